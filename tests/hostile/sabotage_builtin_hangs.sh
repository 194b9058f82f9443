# about: builtin waits for ever when it is asked to read
# sees: returned 3
builtin() { case $1 in read) sleep 60 ;; *) command builtin "$@" ;; esac; }
hook() { return 3; }
