# about: builtin passes on all but read, which it swallows
# sees: returned 3
builtin() { case $1 in read) return 1 ;; esac; command builtin "$@"; }
hook() { return 3; }
