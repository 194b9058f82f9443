# about: a reply with the right number and nonsense behind it
# sees: returned 3 | died
# state: any
hook() { printf '%s nonsense\0' "$__rb_n" >"$__rb_d/r"; return 3; }
