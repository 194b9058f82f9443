# about: builtin prints and fails
# sees: returned 2
builtin() { printf x; return 1; }
hook() { return 2; }
