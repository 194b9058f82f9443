# about: a child that is stopped
# timeout: 0.3
# sees: timeout
hook() { sh -c 'kill -STOP $$'; return 0; }
