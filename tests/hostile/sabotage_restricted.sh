# about: a restricted shell can't redirect output, ours included
# sees: died | timeout
# state: lost
# timeout: 1
hook() { set -r; return 0; }
