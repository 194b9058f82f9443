# about: PS4 that divides by zero under set -x
# sees: returned 0 | returned 1 | died | timeout
# state: any
# noisy: yes
# timeout: 1
hook() { PS4='$((1 / 0)) '; set -x; return 0; }
