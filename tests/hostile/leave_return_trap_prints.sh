# about: a RETURN trap that prints and fails
# sees: returned 3
# noisy: yes
hook() { set -T; trap 'echo return; false' RETURN; return 3; }
