# about: lines of garbage, and more that ends as requests end
# sees: returned 3
hook() { printf 'junk\nmore junk\n' >"$__rb_d/q"; printf 'echo junk\0\0junk;false\0' >"$__rb_d/q"; return 3; }
