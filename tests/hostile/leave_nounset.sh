# about: set -u and an unset variable end bash
# sees: exited | returned 1 | returned 127
# state: any
hook() { set -u; echo "$NOBODY_HAS_SET_THIS"; }
