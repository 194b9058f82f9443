# about: extdebug and a DEBUG trap that returns 2: functions return before their first command
# sees: exited 0 | died
# state: lost
two() { return 2; }
hook() { shopt -s extdebug; set -T; trap two DEBUG; return 3; }
