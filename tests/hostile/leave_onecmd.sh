# about: set -t: bash ends after one command
# sees: returned 0 | died
# state: any
hook() { set -t; return 0; }
