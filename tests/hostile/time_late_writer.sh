# about: a job writes after the hook has returned; a later call must not show it
# sees: returned 0
# stdout: early\n
hook() { (sleep 0.2; echo late; echo late >&2) & echo early; return 0; }
