# about: no file may grow
# sees: returned 0 | died
# state: any
hook() { ulimit -f 0; return 0; }
