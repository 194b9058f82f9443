# about: bash behaves like an old one
# sees: returned 0
hook() { shopt -s compat31 2>/dev/null; BASH_COMPAT=3.2; return 0; }
