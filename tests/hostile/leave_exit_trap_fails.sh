# about: an EXIT trap that prints, fails and exits, when bash ends
# sees: died
# state: lost
hook() { trap 'echo bye; false; builtin exit 8' EXIT; builtin exit 3; }
