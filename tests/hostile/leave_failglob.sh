# about: another one
# sees: returned 1
hook() { shopt -s failglob; echo /nonexistent/*.nothing; return 0; }
