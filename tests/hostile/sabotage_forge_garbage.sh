# about: garbage stands in front of the reply
# sees: returned 3 | died
# state: any
hook() { printf 'garbage\0more garbage' >"$__rb_d/r"; return 3; }
