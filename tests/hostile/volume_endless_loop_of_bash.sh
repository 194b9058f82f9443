# about: bash itself prints for ever, without a deadline
# limit: 100000
# timeout: 600
# within: 30
# sees: limit
hook() { while :; do echo flood; done; }
