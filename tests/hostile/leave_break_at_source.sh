# about: break and continue outside any loop must not find a loop of the bridge
# source: returned 0
# sees: returned 2
# next: ok
break 99
continue 3
hook() { return 2; }
