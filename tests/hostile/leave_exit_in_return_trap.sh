# about: a RETURN trap that exits
# sees: exited 4 | returned 0
# noisy: yes
hook() { trap 'trap - RETURN; exit 4' RETURN; return 0; }
