# about: functions and variables of the bridge are unset
# sees: returned 0 | died | timeout
# state: any
# timeout: 0.5
hook() { for f in $(compgen -A function __rb_); do unset -f "$f"; done 2>/dev/null; unset __rb_T __rb_b __rb_i __rb_t __rb_x; return 0; }
