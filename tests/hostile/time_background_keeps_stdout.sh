# about: a job keeps stdout open
# sees: returned 0
# stdout: started\n
hook() { sleep 75 & echo started; return 0; }
