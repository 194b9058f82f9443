#!/usr/bin/env bash
# Claude Code without installing it: npx fetches a pinned version.

claude_npx_version=2.1.197

driver_name() { echo "claude-npx"; }
driver_display_name() { echo "Claude Code via npx"; }
driver_cli_binary() { echo "npx"; }
driver_min_version() { echo "$claude_npx_version"; }
driver_check_available() { command -v npx >/dev/null 2>&1 && command -v node >/dev/null 2>&1; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=( $'Bash' Read Write Edit Glob Grep Task WebFetch WebSearch 'Bash(*)' )
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" rest item

    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi

    # env -u: a CLAUDECODE of an outer session would make it refuse to start
    CLAUDE_CMD_ARGS=(
        env -u CLAUDECODE DISABLE_AUTOUPDATER=1
        timeout --kill-after=10 "${CLAUDE_NPX_LIMIT:-3600}"
        npx --yes "@anthropic-ai/claude-code@${claude_npx_version}"
        --output-format "${CLAUDE_OUTPUT_FORMAT:-json}"
        --permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}"
    )

    rest="${CLAUDE_ALLOWED_TOOLS:-}"
    if [[ "$rest" =~ [^,[:space:]] ]]; then
        CLAUDE_CMD_ARGS+=(--allowedTools)
        while [[ -n "$rest" ]]; do
            item="${rest%%,*}"
            case "$rest" in
                *,*) rest="${rest#*,}" ;;
                *) rest="" ;;
            esac
            [[ "$item" =~ ^[[:space:]]*(.*[^[:space:]])[[:space:]]*$ ]] || continue
            CLAUDE_CMD_ARGS+=("${BASH_REMATCH[1]}")
        done
    fi

    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=(--resume "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        CLAUDE_CMD_ARGS+=(--append-system-prompt "$loop_context")
    fi
    CLAUDE_CMD_ARGS+=(-p -- "$(cat "$prompt_file")")
}

driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "Edit ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}, e.g. ALLOWED_TOOLS=\"Read,Write,Edit,Bash\"."
}

# The format is the first --output-format of the command: everything before it is fixed.
driver_prepare_live_command() {
    local -i i=0
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    while ((i < ${#LIVE_CMD_ARGS[@]})) && [[ "${LIVE_CMD_ARGS[i]}" != --output-format ]]; do
        i+=1
    done
    LIVE_CMD_ARGS=(
        "${LIVE_CMD_ARGS[@]:0:i}"
        --output-format stream-json --verbose --include-partial-messages
        "${LIVE_CMD_ARGS[@]:i+2}"
    )
}

driver_stream_filter() {
    printf '%s\n' \
        'select(.type == "stream_event") | .event' \
        '| if .type == "content_block_delta" then .delta.text // empty' \
        '  elif .type == "message_stop" then "\n"' \
        '  else empty end'
}
