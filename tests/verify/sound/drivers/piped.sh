#!/usr/bin/env bash
# The host feeds the prompt on stdin: the command says so with a dash.
driver_name() { echo "piped"; }
driver_display_name() { echo "Piped"; }
driver_cli_binary() { echo "piped"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("bash" "edit"); }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_check_available() { piped --version >/dev/null 2>&1; }
driver_build_command() {
    if [[ ! -s "$1" ]]; then echo "no prompt in $1" >&2; return 1; fi
    CLAUDE_CMD_ARGS=("piped" "exec")
    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--instructions" "$2"); fi
    CLAUDE_CMD_ARGS+=("-")
}
