# about: the script itself can't be parsed beyond its first function
# source: returned 1 | returned 2
# sees: returned 2
hook() { return 2; }
other() { if ; }
