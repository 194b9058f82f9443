#!/usr/bin/env bash
# Claude Code in a throw-away container.

IMAGE_FOR_CLAUDE=ghcr.io/example/claude-code:2

driver_name() { echo "claude-container"; }
driver_display_name() { echo "Claude Code (container)"; }
driver_cli_binary() { echo "docker"; }
driver_min_version() { echo "24.0.0"; }

driver_check_available() {
    command -v docker >/dev/null 2>&1
}

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "Read" "Write" "Edit" "MultiEdit" "Glob" "Grep" "Task" "WebFetch" "WebSearch"
        "Bash" "Bash(*)" "mcp__*"
    )
}

driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

_claude_container_docker() {
    CLAUDE_CMD_ARGS=(
        docker run --rm --init
        --volume "$PWD:/work" --volume "$HOME/.claude:/home/node/.claude"
        --workdir /work
        --env ANTHROPIC_API_KEY --env IS_SANDBOX=1
        "$IMAGE_FOR_CLAUDE"
    )
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local IFS=,
    local tool allowed=()

    if [[ ! -f "$prompt_file" ]]; then
        return 1
    fi
    set -f
    for tool in ${CLAUDE_ALLOWED_TOOLS:-}; do
        tool="${tool#"${tool%%[! ]*}"}"
        tool="${tool%"${tool##*[! ]}"}"
        [[ -z "$tool" ]] || allowed+=("$tool")
    done
    set +f
    IFS=$' \t\n'

    _claude_container_docker
    CLAUDE_CMD_ARGS+=(claude)
    if [[ "${CLAUDE_OUTPUT_FORMAT:-json}" == "json" ]]; then
        CLAUDE_CMD_ARGS+=(--output-format json)
    fi
    CLAUDE_CMD_ARGS+=(--permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    if [[ ${#allowed[@]} -gt 0 ]]; then
        CLAUDE_CMD_ARGS+=(--allowedTools "${allowed[@]}")
    fi
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=(--resume "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        CLAUDE_CMD_ARGS+=(--append-system-prompt "$loop_context")
    fi
    CLAUDE_CMD_ARGS+=(-p "$(cat "$prompt_file")")
}

driver_prepare_live_command() {
    LIVE_CMD_ARGS=()
    local word format=no
    for word in "${CLAUDE_CMD_ARGS[@]}"; do
        if [[ "$word" == "claude" && "$format" == no ]]; then
            LIVE_CMD_ARGS+=(claude --output-format stream-json --verbose --include-partial-messages)
            format=skip
        elif [[ "$format" == skip && "$word" == "--output-format" ]]; then
            format=value
        elif [[ "$format" == value ]]; then
            format=done
        else
            [[ "$format" != skip ]] || format=done
            LIVE_CMD_ARGS+=("$word")
        fi
    done
}

driver_stream_filter() {
    cat <<'EOF'
select(.type == "stream_event") | .event
| if .type == "content_block_delta" and .delta.type == "text_delta" then .delta.text
  elif .type == "content_block_start" and .content_block.type == "tool_use" then "\n> " + .content_block.name + "\n"
  elif .type == "message_stop" then "\n"
  else empty end
EOF
}
