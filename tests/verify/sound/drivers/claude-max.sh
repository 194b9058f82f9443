#!/usr/bin/env bash
# A house variant of claude-code, as close to upstream as may be
driver_name() {
    echo "claude-max"
}
driver_display_name() {
    echo "Claude Max"
}
driver_cli_binary() {
    echo "claude"
}
driver_min_version() {
    echo "2.0.76"
}
driver_check_available() {
    command -v "$(driver_cli_binary)" &>/dev/null
}
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "Write" "Read" "Edit" "Glob" "Grep"
        "Bash" "Bash(git *)" "Bash(npm *)"
    )
}
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_build_command() {
    local prompt_file=$1
    local loop_context=$2
    local session_id=$3

    CLAUDE_CMD_ARGS=("$(driver_cli_binary)")
    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    if [[ "$CLAUDE_OUTPUT_FORMAT" == "json" ]]; then
        CLAUDE_CMD_ARGS+=("--output-format" "json")
    fi
    CLAUDE_CMD_ARGS+=("--permission-mode" "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    if [[ -n "$CLAUDE_ALLOWED_TOOLS" ]]; then
        local -a list
        local item
        CLAUDE_CMD_ARGS+=("--allowedTools")
        IFS=',' read -ra list <<< "$CLAUDE_ALLOWED_TOOLS"
        for item in "${list[@]}"; do
            item=$(echo "$item" | xargs)
            [[ -n "$item" ]] && CLAUDE_CMD_ARGS+=("$item")
        done
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--resume" "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        CLAUDE_CMD_ARGS+=("--append-system-prompt" "$loop_context")
    fi
    local content
    content=$(cat "$prompt_file")
    CLAUDE_CMD_ARGS+=("-p" "$content")
}
driver_prepare_live_command() {
    local skip_next=false arg
    LIVE_CMD_ARGS=()
    for arg in "${CLAUDE_CMD_ARGS[@]}"; do
        if [[ "$skip_next" == "true" ]]; then
            LIVE_CMD_ARGS+=("stream-json")
            skip_next=false
        elif [[ "$arg" == "--output-format" ]]; then
            LIVE_CMD_ARGS+=("$arg")
            skip_next=true
        else
            LIVE_CMD_ARGS+=("$arg")
        fi
    done
    LIVE_CMD_ARGS+=("--verbose" "--include-partial-messages")
}
driver_stream_filter() {
    echo '
    if .type == "stream_event" then
        if .event.type == "content_block_delta" and .event.delta.type == "text_delta" then
            .event.delta.text
        else empty end
    else empty end'
}
