# about: every descriptor is taken
# sees: returned 0
hook() { for n in 0 3 4 5 6 7 8 9 10 11 12 60 61 62 63; do eval "exec $n</dev/null"; done; return 0; }
