# about: a child that ignores INT and TERM
# timeout: 0.3
# sees: timeout
# state: kept
hook() { (trap '' INT TERM; exec sleep 76); return 0; }
