# about: a FIFO stands where the host writes long requests
# sees: returned 3
# next: any
# state: lost
hook() { rm -f "$__rb_d/a2" "$__rb_d/a"; mkfifo "$__rb_d/a2" "$__rb_d/a"; return 3; }
