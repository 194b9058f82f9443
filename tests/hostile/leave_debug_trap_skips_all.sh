# about: extdebug and a DEBUG trap that fails: bash skips every command from then on, ours too
# sees: exited 0 | died
# state: lost
hook() { shopt -s extdebug; trap 'false' DEBUG; return 3; }
