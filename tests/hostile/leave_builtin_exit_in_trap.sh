# about: a trap of the hook's that really exits
# sees: exited 4
# state: lost
hook() { trap 'builtin exit 4' USR1; kill -USR1 $$; sleep 1; echo not here; }
