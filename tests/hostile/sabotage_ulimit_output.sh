# about: no file may grow, the mark of an isolated call neither
# sees: returned 0 | died
# state: any
# alone: yes
hook() { ulimit -f 0; return 0; }
