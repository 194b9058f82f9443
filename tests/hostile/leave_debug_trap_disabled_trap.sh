# about: a DEBUG trap, and the builtin that could take it away turned off
# sees: returned 3
# stdout: debug\ndebug\n
hook() { trap 'echo debug' DEBUG; enable -n trap; return 3; }
