# about: an ERR trap that exits; the hook runs in a condition, where bash runs no ERR trap
# sees: returned 1
hook() { trap 'exit 9' ERR; false; return 1; }
