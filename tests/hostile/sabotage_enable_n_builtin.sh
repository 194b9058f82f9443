# about: builtin itself is turned off
# sees: returned 0 | died | timeout
# state: any
# timeout: 1
hook() { enable -n builtin; return 0; }
