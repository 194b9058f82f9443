# about: the script brings an exit of its own, which wins
# sees: returned 0
# stdout: no way out of here\n
exit() { echo "no way out of here"; }
hook() { exit 3; return 0; }
