# about: the FIFO of the replies becomes a plain file
# sees: died | timeout
# state: lost
# timeout: 30
# within: 8
hook() { rm -f "$__rb_d/r"; : >"$__rb_d/r"; return 0; }
