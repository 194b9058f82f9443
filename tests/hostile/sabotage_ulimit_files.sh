# about: no more descriptors
# sees: returned 0 | died
# state: any
# alone: yes
hook() { ulimit -n 4; return 0; }
