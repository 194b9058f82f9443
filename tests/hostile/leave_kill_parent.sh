# about: the parent of bash is asked to end, with a signal that does nothing
# sees: returned 0
hook() { kill -0 $PPID; return 0; }
