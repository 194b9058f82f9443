# about: the builtins that the bridge needs are turned off
# sees: returned 0 | died
# state: any
# timeout: 1
hook() { enable -n printf read eval; return 0; }
