# about: break outside any loop must not find a loop of the bridge; it ends the script, which is said
# source: returned 1
# sees: returned 2
hook() { return 2; }
break 99
