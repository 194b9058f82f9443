#!/usr/bin/env bash
# Claude Code through a login shell, because nvm puts it on PATH only there.
# The command is one string for `bash -lc`; %q makes every word safe.

driver_name() { echo "claude-string"; }
driver_display_name() { echo "Claude Code (login shell)"; }
driver_cli_binary() { echo "claude"; }
driver_min_version() { echo "2.0.76"; }
driver_check_available() { bash -lc 'command -v claude' >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash "Bash(*)" Edit Read Write Glob Grep WebFetch Task "mcp__*"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_permission_denial_help() { echo "Permissions: CLAUDE_PERMISSION_MODE in ${RALPHRC_FILE:-.ralphrc}"; }

_claude_string_cmd=""

_add() {
    local word quoted
    for word in "$@"; do
        printf -v quoted '%q' "$word"
        _claude_string_cmd="$_claude_string_cmd $quoted"
    done
}

_claude_string() { # FORMAT PROMPT CONTEXT SESSION
    _claude_string_cmd="exec"
    _add claude --permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}"
    case "$1" in
        stream-json) _add --output-format stream-json --verbose --include-partial-messages ;;
        *) _add --output-format "$1" ;;
    esac
    if [ -n "$4" ]; then _add --resume "$4"; fi
    if [ -n "$3" ]; then _add --append-system-prompt "$3"; fi
    _add -p -- "$2"
}

driver_build_command() {
    local session=""
    if ! [ -f "$1" ]; then
        echo "claude-string: no file $1" >&2
        return 1
    fi
    if [ "${CLAUDE_USE_CONTINUE:-}" = true ]; then session="$3"; fi
    # kept for the live command, which is built from the same parts
    _claude_string_parts=("$(cat "$1")" "$2" "$session")
    _claude_string "${CLAUDE_OUTPUT_FORMAT:-json}" "${_claude_string_parts[@]}"
    CLAUDE_CMD_ARGS=(bash -lc "$_claude_string_cmd")
}

driver_prepare_live_command() {
    _claude_string stream-json "${_claude_string_parts[@]}"
    LIVE_CMD_ARGS=(bash -lc "$_claude_string_cmd")
}

driver_stream_filter() {
    echo 'select(.type == "stream_event") | .event.delta? // empty | select(.type == "text_delta") | .text'
}
_claude_string_parts=("" "" "")
