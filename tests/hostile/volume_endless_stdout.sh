# about: output that never ends
# limit: 1000000
# timeout: 600
# within: 30
# sees: limit
hook() { yes; }
