# about: bash itself waits in open()
# timeout: 0.3
# sees: timeout
# state: any
hook() { FIFO=$PIDFILE.fifo; mkfifo "$FIFO"; read -r x <"$FIFO"; }
