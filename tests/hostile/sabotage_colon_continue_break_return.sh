# about: the words of our loop, as functions
# sees: returned 0 | returned 7
: () { return 1; }
continue() { builtin exit 9; }
break() { builtin exit 9; }
hook() { builtin return 7; }
