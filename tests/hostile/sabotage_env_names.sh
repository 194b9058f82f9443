# about: the environment brings variables named like ours
# env: __rb_q=evil
# env: __rb_p=echo evil
# env: __rb_w=echo evil
# env: __rb_i=1
# env: __rb_n=77
# env: IFS=0123456789
# sees: returned 12
hook() { return 12; }
