# about: exit from a nested function, inside loops, with locals
# sees: exited 7
inner() { local KEPT=shadow; while true; do for x in 1 2; do exit 7; done; done; }
hook() { inner | cat; inner; return 1; }
