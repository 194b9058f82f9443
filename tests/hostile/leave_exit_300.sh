# about: a status above 255 wraps as in bash
# sees: exited 44
hook() { exit 300; }
