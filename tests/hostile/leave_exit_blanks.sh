# about: exit takes a number with blanks round it
# sees: exited 7
hook() { exit ' 7 '; }
