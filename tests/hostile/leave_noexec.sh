# about: set -n: bash reads on and runs nothing more
# sees: timeout | died
# state: lost
# timeout: 0.5
hook() { set -n; return 1; }
