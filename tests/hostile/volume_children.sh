# about: many children at once
# sees: returned 0
hook() { local i; for ((i = 0; i < 60; i++)); do : & done; wait; return 0; }
