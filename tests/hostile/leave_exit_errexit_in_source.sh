# about: errexit, an ERR trap that functions inherit, and exit in a sourced file
# sees: exited 3
hook() { set -eE; trap ':' ERR; echo 'set -e; exit 3' > exits; . ./exits; return 1; }
