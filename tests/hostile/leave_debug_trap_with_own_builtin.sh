# about: a DEBUG trap, and a function builtin that prints
# sees: returned 3
hook() { trap 'echo debug' DEBUG; builtin() { echo mine; }; return 3; }
