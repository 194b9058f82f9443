# about: set -e at source time and a failing command there
# about: it is sourced in a condition; before bash 4.3 errexit acts in a sourced file nevertheless
# source: returned 0
# sees: returned 1
# before: 4.3 source exited 1
# before: 4.3 sees missing
set -e
false
hook() { false; }
