# A driver as one finds them in the field; it has drifted from today's opencode. For the tests of `drift`.
# shellcheck shell=bash disable=SC2034
driver_name() { echo "opencode"; }
driver_display_name() { echo "OpenCode"; }
driver_cli_binary() { echo "opencode"; }
driver_min_version() { echo "0.1.0"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("bash" "read" "write" "edit" "grep" "question"); }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local text
    [[ -f "$1" ]] || return 1
    text=$(cat "$1")
    if [[ -n "$2" ]]; then text="$2"$'\n\n'"$text"; fi
    CLAUDE_CMD_ARGS=("opencode" "run" "--agent" "build" "--format" "json")
    [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$3" ]] && CLAUDE_CMD_ARGS+=("--continue" "--session" "$3")
    CLAUDE_CMD_ARGS+=("$text")
}

driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }

# D4: events that today's opencode doesn't print.
driver_stream_filter() {
    echo 'select(.type == "message.updated" or .type == "message.completed") | .message
        | select(.role == "assistant") | [.parts[]? | select(.type == "text") | .text] | join("\n")'
}

# D5: a field that there isn't, and then a list that has one entry only at the beginning of a project.
driver_extract_session_id_from_output() {
    sed -n 's/.*"session" *: *{[^}]*"id" *: *"\([^"]*\)".*/\1/p' "$1" | head -n 1
}

driver_fallback_session_id() {
    local ids
    ids=$(opencode session list --format json 2>/dev/null | jq -r '.[].id') || return 1
    [[ -n "$ids" && $(wc -l <<<"$ids") -eq 1 ]] && echo "$ids"
}
