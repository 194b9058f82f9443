# about: a loop without children
# timeout: 0.3
# sees: timeout
# state: kept
hook() { while :; do :; done; }
