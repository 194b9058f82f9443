# about: a line that never ends, by bash itself
# limit: 1000000
# timeout: 0.5
# sees: timeout | limit
hook() { while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done; }
