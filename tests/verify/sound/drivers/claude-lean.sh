#!/usr/bin/env bash
# Another driver for claude: whole messages, allowlist as one list with commas.
driver_name() { echo "claude-lean"; }
driver_display_name() { echo "Claude (lean)"; }
driver_cli_binary() { echo "claude"; }
driver_min_version() { echo "2.0.76"; }
driver_check_available() { command -v claude >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash "Bash(*)" Edit Read Write); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_build_command() {
    local -r prompt_file="$1" context="$2" session="$3"
    local -a args=(--print --output-format "${CLAUDE_OUTPUT_FORMAT:-json}")
    if [[ ! -f "$prompt_file" ]]; then
        printf 'claude-lean: no prompt at %s\n' "$prompt_file" >&2
        return 1
    fi
    args+=(--permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    [[ -n "${CLAUDE_ALLOWED_TOOLS:-}" ]] && args+=(--allowedTools "$CLAUDE_ALLOWED_TOOLS")
    [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session" ]] && args+=(--resume "$session")
    [[ -n "$context" ]] && args+=(--append-system-prompt "$context")
    CLAUDE_CMD_ARGS=(claude "${args[@]}" -- "$(cat -- "$prompt_file")")
}
driver_prepare_live_command() {
    local i
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    for ((i = 1; i < ${#LIVE_CMD_ARGS[@]}; i++)); do
        if [[ "${LIVE_CMD_ARGS[i - 1]}" == "--output-format" ]]; then LIVE_CMD_ARGS[i]="stream-json"; fi
    done
    LIVE_CMD_ARGS=("${LIVE_CMD_ARGS[0]}" --verbose "${LIVE_CMD_ARGS[@]:1}")
}
driver_stream_filter() {
    echo 'if type == "object" and .type == "assistant" then (.message.content // [])[] | if .type == "text" then "\(.text)\n" elif .type == "tool_use" then "[\(.name)]\n" else empty end else empty end'
}
