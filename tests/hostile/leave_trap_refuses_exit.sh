# about: signal traps of every kind that print and exit
# sees: returned 1
hook() { for s in HUP INT QUIT USR1 USR2 PIPE ALRM TERM CHLD; do trap "echo $s; exit 3" $s; done; trap - CHLD; return 1; }
