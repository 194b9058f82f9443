# about: the same with continue, and later again
# source: returned 1
# sees: returned 2
hook() { return 2; }
eval 'again() { :; }'
continue 3
