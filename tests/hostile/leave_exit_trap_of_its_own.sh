# about: an EXIT trap of the script's runs, and its exit counts
# sees: exited 8
# stdout: bye\n
# state: lost
hook() { trap 'echo bye; builtin exit 8' EXIT; builtin exit 3; }
