# about: builtin passes on, counts, and survives for the script's own use
# sees: returned 3
# stdout: mine 1\nmine 2\n
BUILTINS=0
builtin() { BUILTINS=$((BUILTINS + 1)); command builtin "$@"; }
hook() { BUILTINS=0; builtin :; echo "mine $BUILTINS"; builtin :; echo "mine $BUILTINS"; return 3; }
