# about: break and continue in a hook must not find a loop of the bridge
# sees: returned 2
hook() { break 99 2>/dev/null; continue 99 2>/dev/null; eval 'break 50' 2>/dev/null; return 2; }
