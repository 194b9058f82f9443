# about: break and continue in a hook must not find a loop of the bridge
# sees: returned 2
# before: 4.4 sees returned 1
hook() { break 99 2>/dev/null; continue 99 2>/dev/null; eval 'break 50' 2>/dev/null; return 2; }
