# about: the shell is replaced by a program
# sees: exited 0
# state: lost
hook() { exec true; }
