# about: a loop that starts child after child
# timeout: 0.3
# sees: timeout
hook() { while :; do sleep 0.01; done; }
