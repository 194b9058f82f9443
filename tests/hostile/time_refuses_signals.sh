# about: bash and children ignore every signal that can be ignored
# timeout: 0.3
# sees: timeout
# state: lost
hook() { trap '' HUP INT QUIT TERM; while :; do sleep 76; done; }
