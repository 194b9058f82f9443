# about: the terminal is asked for an answer
# sees: returned 1
# timeout: 3
hook() { read -r x </dev/tty; } 2>/dev/null
