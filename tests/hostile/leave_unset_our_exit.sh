# about: unset -f exit, then exit: bash really ends
# sees: exited 5
# state: lost
hook() { unset -f exit; exit 5; }
