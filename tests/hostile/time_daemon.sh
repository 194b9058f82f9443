# about: a daemon by double fork and setsid keeps both outputs
# sees: returned 0
# stdout: started\n
# escapes: yes
hook() { (setsid sh -c 'echo $$ >"$PIDFILE"; exec sleep 75' &); until [ -s "$PIDFILE" ]; do :; done; echo started; return 0; }
