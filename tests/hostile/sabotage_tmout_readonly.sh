# about: a readonly TMOUT that read would obey at once
# sees: returned 0
readonly TMOUT=1
hook() { /bin/sleep 1.2; return 0; }
