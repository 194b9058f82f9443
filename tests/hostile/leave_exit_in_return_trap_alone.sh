# about: a RETURN trap that exits, for the hook that sets it alone
# sees: exited 3
hook() { trap 'exit 3' RETURN; return 5; }
