# about: PATH is empty
# sees: returned 0
hook() { PATH=; return 0; }
