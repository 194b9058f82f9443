# about: exit past our function
# sees: died 3
# state: lost
hook() { builtin exit 3; }
