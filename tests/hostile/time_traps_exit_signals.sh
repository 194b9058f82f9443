# about: signal handlers that go on
# timeout: 0.3
# sees: timeout
# state: any
hook() { trap 'echo no' INT TERM; while :; do sleep 76; done; }
