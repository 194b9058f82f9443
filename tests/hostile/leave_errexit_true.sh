# about: set -e in the hook and a failing command; hooks run in a condition, where errexit does not act
# sees: returned 0
# stdout: on\n
hook() { set -e; false; echo on; }
