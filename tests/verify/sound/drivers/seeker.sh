#!/usr/bin/env bash
# Looks for its CLI under several names; context in front of the prompt.
driver_name() { echo "seeker"; }
driver_display_name() { echo "Seeker"; }
driver_cli_binary() {
    local candidate
    for candidate in seeker seeker-cli "$HOME/.local/bin/seeker"; do
        if command -v "$candidate" >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    echo "seeker"
}
driver_check_available() { command -v "$(driver_cli_binary)" >/dev/null 2>&1; }
driver_valid_tools() { mapfile -t VALID_TOOL_PATTERNS <<<$'read\nwrite\nshell'; }
driver_build_command() {
    local prompt_file="$1" loop_context="${2:-}" session_id="${3:-}" text=""
    if [[ ! -f "$prompt_file" ]]; then echo "ERROR: $prompt_file not found" >&2; return 1; fi
    [[ -z "$loop_context" ]] || text="Context: $loop_context"$'\n---\n'
    text+="$(<"$prompt_file")"
    CLAUDE_CMD_ARGS=("$(driver_cli_binary)" "--quiet")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" ]] && [[ -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--thread-id" "$session_id")
    fi
    CLAUDE_CMD_ARGS+=("--task" "$text")
}
driver_stream_filter() {
    cat <<'JQ'
# parts of messages
fromjson? // . | select(type == "object" and .type == "assistant")
| .message.content[]? | select(.type? == "text") | .text + "\n"
JQ
}
driver_permission_denial_help() {
    cat <<HELP
Seeker may not do what it wants to. See ${RALPHRC_FILE:-.ralphrc}.
HELP
}
