# about: every set -o option that does not end bash
# sees: returned 0
# noisy: yes
hook() { set -abfhkvxBCHP 2>/dev/null; set -o pipefail; return 0; }
