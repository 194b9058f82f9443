# about: exec sends both outputs elsewhere; the next call has its own again
# sees: returned 0
# stdout: before\n
hook() { echo before; exec >/dev/null 2>&1; echo after; return 0; }
