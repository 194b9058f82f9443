# about: builtin does nothing
# sees: returned 2
builtin() { :; }
hook() { return 2; }
