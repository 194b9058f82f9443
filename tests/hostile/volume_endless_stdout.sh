# about: output that never ends
# limit: 1000000
# timeout: 0.5
# sees: timeout | limit
hook() { yes; }
