# about: a DEBUG trap that prints before every command
# sees: returned 3
# noisy: yes
hook() { set -T; trap 'echo debug' DEBUG; return 3; }
