# about: output and values that look like the protocol
# sees: returned 3
# reads: FAKE 2
hook() { FAKE=("$__rb_n 0 - hB" "=$__rb_n"); printf '%s 0 - hB\0=%s\0' "$__rb_n" "$__rb_n"; return 3; }
