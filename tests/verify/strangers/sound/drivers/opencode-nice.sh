#!/usr/bin/env bash
# opencode with low priority, a limit of its own, and lines that come at once

driver_name() { echo "opencode-nice"; }
driver_display_name() { echo "OpenCode"; }
driver_cli_binary() { echo "opencode"; }
driver_min_version() { echo "1.0.0"; }
driver_check_available() { command -v opencode >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("bash" "edit" "glob" "grep" "read" "task" "todowrite" "webfetch" "write"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local prompt
    if [[ ! -f "$prompt_file" ]]; then
        return 1
    fi
    prompt="$(cat "$prompt_file")"
    CLAUDE_CMD_ARGS=(timeout --kill-after=30 2h nice -n 10 stdbuf -oL opencode run --format json)
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=(--session "$session_id")
    fi
    [[ -n "${OPENCODE_AGENT:-}" ]] && CLAUDE_CMD_ARGS+=(--agent "$OPENCODE_AGENT")
    if [[ -n "$loop_context" ]]; then
        prompt="$loop_context"$'\n\n---\n\n'"$prompt"
    fi
    CLAUDE_CMD_ARGS+=(-- "$prompt")
    return 0
}

driver_stream_filter() {
    echo 'select(.type == "text") | .part.text + "\n"'
}

driver_extract_session_id_from_output() {
    [ -r "$1" ] || return 1
    grep -o '"sessionID":"ses_[A-Za-z0-9]*"' "$1" | head -n 1 | cut -d '"' -f 4
}

driver_fallback_session_id() {
    opencode session list --format json 2>/dev/null | jq -r 'select(length == 1) | .[0].id // empty' 2>/dev/null
}
