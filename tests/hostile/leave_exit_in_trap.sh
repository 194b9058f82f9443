# about: a signal trap that exits
# sees: exited 9
hook() { trap 'exit 9' USR1; kill -USR1 $$; :; return 1; }
