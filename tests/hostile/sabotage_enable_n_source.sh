# about: the builtins that carry long arguments are turned off
# sees: returned 3
hook() { enable -n . source set eval declare printf read compgen local; return 3; }
