# about: exit with a leading zero, which arithmetic would take for octal
# sees: exited 8
hook() { exit 08; }
