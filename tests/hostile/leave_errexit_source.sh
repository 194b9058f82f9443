# about: set -e at source time and a failing command there
# source: returned 0
# sees: returned 1
set -e
false
hook() { false; }
