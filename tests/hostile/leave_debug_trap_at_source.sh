# about: the script sets a DEBUG trap at its top level: functions don't inherit it
# sees: returned 3
# stdout: out\n
trap 'echo debug' DEBUG
hook() { echo out; return 3; }
