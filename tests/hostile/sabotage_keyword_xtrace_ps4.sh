# about: PS4 with commands and output under set -x
# sees: returned 0
# noisy: yes
hook() { PS4='$(echo x)+ '; set -x; return 0; }
