# about: the number of the exchange is changed
# sees: returned 0 | died | timeout
# state: any
# timeout: 0.5
hook() { __rb_n=999; return 0; }
