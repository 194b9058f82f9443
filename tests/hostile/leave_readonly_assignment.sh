# about: another one
# sees: returned 1
readonly RO=1
hook() { RO=2; return 0; }
