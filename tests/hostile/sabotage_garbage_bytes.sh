# about: bytes of every kind in front of the next request
# sees: returned 3
hook() { head -c 3000 /dev/urandom >"$__rb_d/q"; printf '\303' >"$__rb_d/q"; return 3; }
