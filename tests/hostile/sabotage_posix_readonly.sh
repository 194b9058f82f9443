# about: POSIX mode and an error of a special builtin, which ends bash
# sees: exited | returned 1
# before: 4.3 sees returned 0
# state: any
hook() { set -o posix; readonly PX=1; export PX=2; return 0; }
