#!/usr/bin/env bash
# The agent lives on the build box: everything is one command line for the shell over there.

BUILDBOX_HOST="${BUILDBOX_HOST:-ralph@buildbox.example.com}"
BUILDBOX_DIR="${BUILDBOX_DIR:-/srv/checkout}"

driver_name() { echo "buildbox"; }
driver_display_name() { echo "Agent on the build box"; }
driver_cli_binary() { echo "ssh"; }
driver_min_version() { echo "8.0.0"; }
driver_check_available() { command -v ssh >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Edit" "Bash" "Bash(*)"); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

# words, quoted for a shell, joined with blanks
buildbox_quote() {
    local word out=""
    for word in "$@"; do
        out+="$(printf '%q' "$word") "
    done
    printf '%s' "${out% }"
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local -a remote tools
    local raw prompt

    if [[ ! -f "$prompt_file" ]]; then
        echo "buildbox: no prompt at $prompt_file" >&2
        return 1
    fi
    prompt="$(<"$prompt_file")"
    remote=(claude --output-format "$CLAUDE_OUTPUT_FORMAT" --permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    tools=()
    while IFS= read -r raw; do
        raw="$(printf '%s' "$raw" | awk '{ gsub(/^[ \t]+|[ \t]+$/, ""); print }')"
        if [[ -n "$raw" ]]; then tools+=("$raw"); fi
    done < <(printf '%s\n' "${CLAUDE_ALLOWED_TOOLS:-}" | tr ',' '\n')
    if [[ ${#tools[@]} -gt 0 ]]; then
        remote+=(--allowedTools "${tools[@]}")
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        remote+=(--resume "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        remote+=(--append-system-prompt "$loop_context")
    fi
    remote+=(-p -- "$prompt")
    CLAUDE_CMD_ARGS=(ssh -o BatchMode=yes "$BUILDBOX_HOST" "cd $(buildbox_quote "$BUILDBOX_DIR") && exec $(buildbox_quote "${remote[@]}")")
}

driver_prepare_live_command() {
    local last=$((${#CLAUDE_CMD_ARGS[@]} - 1))
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    LIVE_CMD_ARGS[last]="${LIVE_CMD_ARGS[last]/--output-format $CLAUDE_OUTPUT_FORMAT/--output-format stream-json --verbose}"
}

driver_stream_filter() {
    printf '%s' 'if .type == "assistant" then (.message.content[]? | if .type == "text" then .text + "\n" elif .type == "tool_use" then "[" + .name + "]\n" else empty end) else empty end'
}
