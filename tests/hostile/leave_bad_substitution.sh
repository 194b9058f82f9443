# about: another one
# sees: returned 1
hook() { eval 'echo ${x!y z}'; return 1; }
