# about: wait for a job that does not end
# timeout: 0.3
# sees: timeout
# state: kept
hook() { sleep 75 & wait; }
