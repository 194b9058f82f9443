# about: a DEBUG trap without functrace is for the hook that sets it; later calls print nothing
# sees: returned 3
# stdout: debug\nout\ndebug\n
hook() { trap 'echo debug' DEBUG; echo out; return 3; }
