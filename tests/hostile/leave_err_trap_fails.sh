# about: an ERR trap that fails and prints, inherited by functions
# sees: returned 3
# noisy: yes
hook() { set -E; trap 'echo err; false' ERR; false; return 3; }
