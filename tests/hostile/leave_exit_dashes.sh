# about: exit with -- and a negative number
# sees: exited 253
hook() { exit -- -3; }
