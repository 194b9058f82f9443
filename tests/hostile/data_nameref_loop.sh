# about: a circular nameref
# sees: returned 0 | returned 1
hook() { declare -n LOOPA=LOOPB LOOPB=LOOPA 2>/dev/null; return 0; }
