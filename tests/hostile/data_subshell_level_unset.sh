# about: BASH_SUBSHELL is unset, so exit can't tell where it is
# sees: exited 4 | died
# state: any
hook() { unset BASH_SUBSHELL; exit 4; }
