# about: a DEBUG trap whose last command is an assignment
# sees: returned 1
# stdout: debug\n
hook() { trap 'echo debug; X=1' DEBUG; return 1; }
