# about: stderr that never ends, stdout unused
# limit: 1000000
# timeout: 600
# within: 30
# sees: limit
hook() { yes >&2; }
