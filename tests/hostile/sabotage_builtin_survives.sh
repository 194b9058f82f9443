# about: a builtin function of the script is still there in a later call, although it would have broken the bridge
# sees: returned 3
# stdout: <a b>\n
builtin() { echo "<$*>"; }
hook() { builtin a b; return 3; }
