# about: stdin is read for ever
# sees: returned 1
# timeout: 3
hook() { cat >/dev/null; read -r x; }
