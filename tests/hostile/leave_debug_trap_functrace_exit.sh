# about: with functrace a DEBUG trap outlives the exit of its hook, and sees nothing of ours
# sees: exited 3
# noisy: yes
hook() { set -T; trap 'TRACED+=("$BASH_COMMAND")' DEBUG; exit 3; }
