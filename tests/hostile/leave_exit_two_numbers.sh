# about: exit with too many arguments ends the hook with 1
# sees: exited 1
hook() { exit 5 6; return 9; }
