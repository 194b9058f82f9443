#!/usr/bin/env bash
# amp: a session is a thread, T-xxxx.

driver_name() { echo "amp-threads"; }
driver_display_name() { echo "Amp"; }
driver_cli_binary() { echo "amp"; }
driver_min_version() { echo "0.0.1764000000"; }
driver_check_available() { command -v amp >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Bash" "create_file" "edit_file" "Read" "Grep" "glob" "oracle" "Task"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local prompt

    if [[ ! -f "$prompt_file" ]]; then
        echo "amp-threads: missing prompt $prompt_file" >&2
        return 1
    fi
    prompt="$(<"$prompt_file")"

    CLAUDE_CMD_ARGS=("amp")
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("threads" "continue" "$session_id")
    fi
    CLAUDE_CMD_ARGS+=("--dangerously-allow-all" "--stream-json")
    if [[ -n "$loop_context" ]]; then
        prompt="$(printf '%s\n\n%s' "$loop_context" "$prompt")"
    fi
    CLAUDE_CMD_ARGS+=("--execute" "$prompt")
    return 0
}

driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }

driver_stream_filter() {
    cat << 'JQ'
def line: if . == null or . == "" then empty else . + "\n" end;
if .type != "assistant" then empty
else .message.content[]? | if .type == "text" then .text | line else empty end
end
JQ
}
