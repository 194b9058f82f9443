# about: the private folder of the bridge is deleted
# sees: died | timeout
# state: lost
# timeout: 5
hook() { rm -rf "$__rb_d"; return 0; }
