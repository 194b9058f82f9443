# about: a handler for missing commands that exits
# sees: returned 0 | returned 127 | exited 3
command_not_found_handle() { exit 3; }
hook() { nonexistent_command_xyz; return 0; }
