# about: bytes of every kind in front of the next request
# sees: returned 3
hook() { printf '\001\177\036\037\377\376\200\303\050\0\0\342\202\033\303' >"$__rb_d/q"; return 3; }
