# about: an endless flood that ignores INT and TERM
# limit: 100000
# timeout: 600
# within: 30
# sees: limit
# state: any
hook() { trap '' INT TERM; yes; }
