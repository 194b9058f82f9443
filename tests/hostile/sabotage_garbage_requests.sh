# about: garbage without an end stands in front of the next request
# sees: returned 3
hook() { printf 'junk' >"$__rb_d/q"; return 3; }
