#!/usr/bin/env bash
# A CLI with an absolute path, and an absolute path for the prompt.
HOMELY_BIN="${HOMELY_BIN:-$HOME/.homely/bin/homely}"
driver_name() { echo "homely"; }
driver_display_name() { echo "Homely"; }
driver_cli_binary() { echo "$HOMELY_BIN"; }
driver_valid_tools() {
    local t
    VALID_TOOL_PATTERNS=()
    for t in read write run; do VALID_TOOL_PATTERNS+=("$t" "$t(*)"); done
}
driver_check_available() { [[ -x "$HOMELY_BIN" ]]; }
driver_supports_sessions() { return 0; }
driver_extract_session_id_from_output() { sed -n 's/^session: \([A-Za-z0-9-]*\)$/\1/p' "$1" 2>/dev/null | tail -n 1; }
driver_fallback_session_id() { "$HOMELY_BIN" sessions --json 2>/dev/null </dev/null | jq -r 'if length == 1 then .[0].id else empty end' 2>/dev/null; }
driver_build_command() {
    local prompt_path
    prompt_path=$(realpath -e -- "$1" 2>/dev/null) || { echo "homely: no such prompt: $1" >&2; return 1; }
    CLAUDE_CMD_ARGS=("$HOMELY_BIN" -f "$prompt_path")
    if [ "${CLAUDE_USE_CONTINUE:-}" = "true" ] && [ -n "$3" ]; then CLAUDE_CMD_ARGS+=(-s "$3"); fi
    if [ -n "$2" ]; then CLAUDE_CMD_ARGS+=(-m "$2"); fi
    :
}
