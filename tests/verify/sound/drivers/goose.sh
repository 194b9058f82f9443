#!/usr/bin/env bash
# Driver for Block's goose
driver_name() { echo goose; }
driver_display_name() { echo "Goose"; }
driver_cli_binary() { echo "goose"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(developer__shell developer__text_editor); }
driver_min_version() { echo "1.0.0"; }
driver_check_available() { command -v goose > /dev/null 2>&1; }
driver_build_command() {
    local prompt_file="$1"; local loop_context="$2"; local session_id="$3"
    if [[ ! -f "$prompt_file" ]]; then
        printf 'prompt file %q does not exist\n' "$prompt_file" >&2
        return 1
    fi
    CLAUDE_CMD_ARGS=("goose" "run" "--instructions" "$prompt_file" "--no-confirm")
    if [[ -n "$loop_context" ]]; then
        CLAUDE_CMD_ARGS+=("--system" "$loop_context")
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" ]] && [[ -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--resume" "--session-id" "$session_id")
    fi
    if [[ "$CLAUDE_OUTPUT_FORMAT" == "json" ]]; then
        CLAUDE_CMD_ARGS+=("--output-format" "stream-json")
    fi
}
driver_supports_live_output() { true; }
driver_supports_sessions() { true; }
driver_supports_tool_allowlist() { false; }
driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
driver_stream_filter() {
    printf '%s' 'if .type? == "message" and .message.role? == "assistant" then (.message.content[]? | select(.type? == "text") | .text) else empty end'
}
driver_extract_session_id_from_output() {
    local output_file="$1"
    [[ -f "$output_file" ]] || return 1
    jq -Rr 'fromjson? | select(type == "object") | .session_id? // empty' "$output_file" | head -n 1
}
