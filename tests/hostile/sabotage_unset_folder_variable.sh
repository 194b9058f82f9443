# about: the variable that says where the channel is
# sees: died | timeout
# state: lost
# timeout: 0.5
hook() { unset __rb_d; return 0; }
