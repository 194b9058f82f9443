# A driver as one finds them in the field; it has drifted from today's claude. For the tests of `drift`.
# shellcheck shell=bash disable=SC2034
driver_name() { echo "claude-code"; }
driver_display_name() { echo "Claude Code"; }
driver_cli_binary() { echo "claude"; }
driver_min_version() { echo "2.0.76"; }
driver_supports_tool_allowlist() { return 0; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=("Write" "Read" "Edit" "MultiEdit" "Task" "TodoWrite" "Bash" "Bash(git *)")
}

driver_build_command() {
    local -a argv
    local prompt tool
    prompt=$(cat "$1") || return 1
    argv=("$(driver_cli_binary)")
    if [ "$CLAUDE_OUTPUT_FORMAT" = "json" ]; then argv+=("--output-format" "json"); fi
    printf -v argv[${#argv[@]}] -- '--%s' permission-mode
    argv+=("${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    if [ -n "$CLAUDE_ALLOWED_TOOLS" ]; then
        argv+=("--allowedTools")
        IFS=',' read -ra tools <<<"$CLAUDE_ALLOWED_TOOLS"
        for tool in "${tools[@]}"; do argv+=("$(echo "$tool" | sed 's/^ *//;s/ *$//')"); done
    fi
    if [ "$CLAUDE_USE_CONTINUE" = "true" ] && [ -n "$3" ]; then argv+=("--resume" "$3"); fi
    if [ -n "$2" ]; then argv+=("--append-system-prompt" "$2"); fi
    argv+=("-p" "$prompt")
    CLAUDE_CMD_ARGS=("${argv[@]}")
}

# D16: from the text format it makes a command line that claude refuses.
driver_prepare_live_command() {
    local arg previous=""
    LIVE_CMD_ARGS=()
    for arg in "${CLAUDE_CMD_ARGS[@]}"; do
        if [ "$previous" = "--output-format" ]; then LIVE_CMD_ARGS+=("stream-json"); else LIVE_CMD_ARGS+=("$arg"); fi
        previous=$arg
    done
    LIVE_CMD_ARGS+=("--verbose" "--include-partial-messages")
}

driver_stream_filter() {
    echo 'select(.type == "stream_event") | .event
        | if .type == "content_block_delta" then .delta.text // empty
          elif .type == "content_block_stop" then "\n" else empty end'
}
