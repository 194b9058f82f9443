# about: jobs in process groups of their own
# sees: returned 0
hook() { set -m; sleep 75 & (sleep 74 & sleep 73 &); return 0; }
