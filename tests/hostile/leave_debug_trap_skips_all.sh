# about: extdebug and a DEBUG trap that fails: bash skips every command from then on, ours too
# sees: timeout | died
# state: any
# timeout: 0.5
hook() { shopt -s extdebug; trap 'false' DEBUG; return 3; }
