# about: a reply is written by the hook itself; the next call must not get the true one late
# sees: returned 0 | returned 3 | died
# state: any
hook() { printf '%s 0 - hB\0' "$__rb_n" >"$__rb_d/r"; return 3; }
