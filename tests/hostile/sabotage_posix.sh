# about: POSIX mode, where special builtins end the shell on errors
# sees: returned 0
hook() { set -o posix; return 0; }
