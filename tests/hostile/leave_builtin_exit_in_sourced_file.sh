# about: exit past our function in a file that the hook sources, behind eval
# sees: exited 9
# state: lost
hook() { echo 'eval "builtin exit 9"' >"$PIDFILE.sh"; . "$PIDFILE.sh"; }
