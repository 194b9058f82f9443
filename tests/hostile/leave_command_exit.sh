# about: exit past our function, the other way
# sees: exited 3
# state: lost
hook() { command exit 3; }
