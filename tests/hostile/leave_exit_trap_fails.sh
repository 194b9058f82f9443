# about: an EXIT trap that prints, fails and exits, when bash ends
# sees: exited 3 | exited 8
# state: lost
hook() { trap 'echo bye; false; builtin exit 8' EXIT; builtin exit 3; }
