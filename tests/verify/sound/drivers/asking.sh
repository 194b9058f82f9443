#!/usr/bin/env bash
# Asks its CLI for the session, reads plain JSON lines, and makes its command in a helper.
_asking_fail() { echo "asking: $*" >&2; return 1; }
_asking_prompt() { local p; p=$(cat "$1") && printf '%s' "$p"; }
driver_name() { echo "asking"; }
driver_display_name() { echo "Asking"; }
driver_cli_binary() { echo "asking"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("a" "b"); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { [[ 1 -eq 1 ]]; }
driver_check_available() { hash asking 2>/dev/null; }
driver_build_command() {
    local tool IFS=,
    [[ -f "$1" ]] || { _asking_fail "no file $1"; return; }
    CLAUDE_CMD_ARGS=(env ASKING_MODE=loop asking)
    set -f
    for tool in ${CLAUDE_ALLOWED_TOOLS:-}; do
        tool="${tool#"${tool%%[![:space:]]*}"}"
        CLAUDE_CMD_ARGS+=(--tool "$tool")
    done
    set +f
    [[ "${CLAUDE_USE_CONTINUE:-}" != true || -z "$3" ]] || CLAUDE_CMD_ARGS+=(--id "$3")
    CLAUDE_CMD_ARGS+=(--message "$2${2:+ }$(_asking_prompt "$1")")
}
driver_extract_session_id_from_output() {
    jq -R -r 'fromjson? | .session_id? // empty' "$1" 2>/dev/null | head -n 1
}
