# about: exit past our function
# sees: exited 3
# state: lost
hook() { builtin exit 3; }
