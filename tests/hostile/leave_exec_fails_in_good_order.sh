# about: the shell is replaced by a program that prints and exits
# sees: exited 5
# stdout: other\n
# state: lost
hook() { exec sh -c 'echo other; exit 5'; }
