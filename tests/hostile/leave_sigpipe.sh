# about: writing to a pipe that nobody reads
# sees: returned 141 | returned 1
hook() { set -o pipefail; while :; do echo yes; done 2>/dev/null | head -1 >/dev/null; }
