# about: 10,000 globals
# slow: yes
# sees: returned 0
hook() { local i; for ((i = 0; i < 10000; i++)); do eval "GLOBAL_$i=$i"; done; return 0; }
