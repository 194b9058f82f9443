#!/usr/bin/env bash
# cursor-agent on a CI runner

driver_name() { echo "cursor-ci"; }
driver_display_name() { echo "Cursor (CI)"; }

driver_cli_binary() {
    if command -v cursor-agent >/dev/null 2>&1; then
        echo "cursor-agent"
    elif command -v agent >/dev/null 2>&1; then
        echo "agent"
    else
        echo "cursor-agent"
    fi
}

driver_min_version() { echo "2025.9.0"; }
driver_check_available() { command -v "$(driver_cli_binary)" >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Edit" "Shell" "Grep" "Glob"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local instructions
    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    instructions="Read the file $prompt_file and do what it says."
    if [[ -n "$loop_context" ]]; then
        instructions="$loop_context

$instructions"
    fi
    CLAUDE_CMD_ARGS=("$(driver_cli_binary)" -p --force --output-format "${CLAUDE_OUTPUT_FORMAT:-json}")
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=(--resume "$session_id")
    fi
    CLAUDE_CMD_ARGS+=("$instructions")
}

driver_prepare_live_command() {
    local -a new=()
    local a prev=
    for a in "${CLAUDE_CMD_ARGS[@]}"; do
        if [[ $prev == --output-format ]]; then new+=(stream-json); else new+=("$a"); fi
        prev=$a
    done
    LIVE_CMD_ARGS=("${new[@]}")
}

driver_stream_filter() {
    printf '%s\n' 'if .type == "assistant" then (.message.content // [] | map(select(.type == "text") | .text) | join("")) elif .type == "tool_call" and .subtype == "started" then "\n[tool]\n" else empty end'
}
