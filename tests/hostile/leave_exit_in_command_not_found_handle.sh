# about: exit in command_not_found_handle, a child that BASH_SUBSHELL doesn't count
# sees: returned 27
# bash: 4.0
command_not_found_handle() { exit 27; }
hook() { no_such_command_at_all; return $?; }
