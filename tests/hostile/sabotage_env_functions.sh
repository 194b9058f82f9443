# about: exported functions in the environment, named like what the bridge uses
# env: BASH_FUNC_builtin%%=() { :; }
# env: BASH_FUNC_printf%%=() { :; }
# env: BASH_FUNC_read%%=() { :; }
# env: BASH_FUNC_eval%%=() { :; }
# env: BASH_FUNC_exit%%=() { :; }
# env: BASH_FUNC_exec%%=() { :; }
# env: BASH_FUNC_shift%%=() { :; }
# env: BASH_FUNC_trap%%=() { :; }
# env: BASH_FUNC_helper%%=() { echo helped; }
# sees: returned 3
# stdout: helped\n
hook() { helper 2>/dev/null || command printf 'helped\n'; return 3; }
helper() { command printf 'helped\n'; }
