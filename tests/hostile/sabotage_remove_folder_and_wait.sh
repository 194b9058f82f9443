# about: the same, and the hook would run for long after it
# sees: died | timeout
# state: lost
# timeout: 30
# within: 8
hook() { rm -rf "$__rb_d"; sleep 20; return 0; }
