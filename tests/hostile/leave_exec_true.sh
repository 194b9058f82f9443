# about: the shell is replaced by a program
# sees: died 0
# state: lost
hook() { exec true; }
