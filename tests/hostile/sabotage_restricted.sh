# about: a restricted shell can't redirect output, ours included
# sees: died
# state: lost
# within: 4
hook() { set -r; return 0; }
