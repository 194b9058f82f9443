# about: a job fills the channel of the requests for good
# timeout: 1
# sees: returned 3 | died | timeout
# next: any
# state: any
hook() { (exec yes >"$__rb_d/q") >/dev/null 2>&1 & return 3; }
