# about: an EXIT trap that never ends
# sees: timeout
# state: lost
# timeout: 0.4
hook() { trap 'while :; do :; done' EXIT; builtin exit 3; }
