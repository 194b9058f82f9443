# about: an ERR trap that exits
# sees: exited 9
hook() { trap 'exit 9' ERR; false; return 1; }
