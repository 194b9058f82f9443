# about: the folder's rights are taken away
# sees: returned 0 | died
# state: any
hook() { chmod 000 "$__rb_d"; return 0; }
