# about: readonly on every variable of the bridge
# sees: returned 0 | died | timeout
# state: lost
# timeout: 0.5
hook() { readonly __rb_q __rb_n __rb_s __rb_c __rb_x __rb_w __rb_i __rb_t __rb_b; return 0; }
