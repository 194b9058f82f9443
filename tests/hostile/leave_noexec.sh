# about: set -n: bash reads on and runs nothing more
# sees: exited 0 | died
# state: lost
hook() { set -n; return 1; }
