# about: exit 0 is not a return: the caller hears of it
# sees: exited 0
# stdout: before\n
hook() { echo before; exit 0; echo after; }
