# about: the descriptor that bash reads its script from
# sees: returned 0 | died
# state: any
hook() { eval 'exec 255<&-'; return 0; }
