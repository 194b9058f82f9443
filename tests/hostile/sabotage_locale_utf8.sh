# about: a UTF-8 locale in the middle of it
# sees: returned 0
hook() { LC_ALL=C.UTF-8; return 0; } 2>/dev/null
