# about: no more descriptors
# sees: returned 0 | died
# before: 4.3 noisy yes
# state: any
# alone: yes
hook() { ulimit -n 4; return 0; }
