# about: stderr that never ends, stdout unused
# limit: 1000000
# timeout: 0.5
# sees: timeout | limit
hook() { yes >&2; }
