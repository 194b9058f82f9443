# about: extdebug and a DEBUG trap that returns 2: functions return before their first command
# sees: timeout | died | returned 0
# state: any
# timeout: 0.5
two() { return 2; }
hook() { shopt -s extdebug; set -T; trap two DEBUG; return 3; }
