# shellcheck shell=bash
# forge takes everything from the environment (it is made for CI):
#   FORGE_TASK, FORGE_CONTEXT, FORGE_CONVERSATION, FORGE_OUTPUT

driver_name() { echo "forge-env"; }
driver_display_name() { echo "Forge"; }
driver_cli_binary() { echo "forge"; }
driver_min_version() { echo "1.2.0"; }
driver_check_available() { command -v forge >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("fs_read" "fs_patch" "fs_create" "shell"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }
driver_permission_denial_help() { echo "Restricted mode? Remove \"restricted\" from forge.yaml."; }

driver_build_command() {
    local -a assignments
    test -f "$1" || return 1
    assignments=(FORGE_TASK="$(cat "$1")" FORGE_OUTPUT="${CLAUDE_OUTPUT_FORMAT:-json}")
    test -z "$2" || assignments[2]=FORGE_CONTEXT="$2"
    if test "${CLAUDE_USE_CONTINUE:-no}" = true && test -n "$3"; then
        assignments[3]=FORGE_CONVERSATION="$3"
    fi
    CLAUDE_CMD_ARGS=(/usr/bin/env "${assignments[@]}" forge ci run)
}
