# about: opening a FIFO that nobody writes to
# timeout: 0.3
# sees: timeout
# state: any
hook() { local f; f=$PIDFILE.fifo; mkfifo "$f" && cat "$f"; rm -f "$f"; }
