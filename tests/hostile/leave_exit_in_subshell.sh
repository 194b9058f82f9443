# about: exit in a subshell, a substitution and a pipeline stays there
# sees: returned 3
# stdout: 5\n
hook() { (exit 4); x=$(exit 5); echo $?; exit 6 | cat; return 3; }
