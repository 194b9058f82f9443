# about: SIGINT is ignored; the deadline still holds
# sees: timeout
# state: any
# timeout: 0.3
hook() { trap '' INT; while :; do :; done; }
