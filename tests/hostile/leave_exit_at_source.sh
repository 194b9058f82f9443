# about: exit while being sourced: what was defined until then is there
# source: exited 7
# sees: returned 2
hook() { return 2; }
exit 7
:
hook() { return 99; }
