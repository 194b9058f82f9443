#!/usr/bin/env bash
# aider reads its message from a file
driver_name()            { echo aider-file; }
driver_display_name()    { echo Aider; }
driver_cli_binary()      { echo aider; }
driver_min_version()     { echo 0.50.0; }
driver_check_available() { command -v aider >/dev/null 2>&1; }
driver_valid_tools()     { VALID_TOOL_PATTERNS=(edit run commit); }
driver_supports_sessions()    { return 1; }
driver_supports_live_output() { return 1; }
driver_build_command() {
    local prompt_file=$1 context=$2 message_file
    [[ -f "$prompt_file" ]] || { echo "aider: $prompt_file?" >&2; return 1; }
    message_file="$(dirname "$prompt_file")/.aider-message.md"
    { [[ -n "$context" ]] && printf '%s\n\n' "$context"; cat "$prompt_file"; } > "$message_file" || return 1
    CLAUDE_CMD_ARGS=(aider --yes-always --no-check-update ${AIDER_MODEL:+--model "$AIDER_MODEL"} --message-file "$message_file")
    return 0
}
