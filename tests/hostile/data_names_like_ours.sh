# about: globals with our prefix
# sees: returned 0
hook() { __rb_mine=1; __rb_=2; __rbx=3; __rb_qq=4; return 0; }
