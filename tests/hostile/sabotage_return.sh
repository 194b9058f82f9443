# about: return as a function
# sees: returned 0 | returned 1
return() { echo never; }
hook() { return 5 >/dev/null; [[ x ]]; }
