#!/usr/bin/env bash
# Claude Code; its key comes from 1Password, and the Mac stays awake meanwhile.

driver_name() { echo "claude-op"; }
driver_display_name() { echo "Claude Code (1Password)"; }
driver_cli_binary() { echo "op"; }
driver_min_version() { echo "2.30.0"; }
driver_check_available() { command -v op >/dev/null && command -v claude >/dev/null; }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Agent" "Bash" "Bash(*)" "Edit" "Glob" "Grep" "Read" "Skill" "WebFetch" "Write" "mcp__*"); }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local -a claude_args=() allowed=()
    local item rest

    if [[ ! -f "$prompt_file" ]]; then
        echo "claude-op: $prompt_file does not exist" >&2
        return 1
    fi

    claude_args+=(--output-format "${CLAUDE_OUTPUT_FORMAT:-json}")
    claude_args+=(--permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")

    rest="${CLAUDE_ALLOWED_TOOLS:-}"
    until [[ -z "$rest" ]]; do
        item="${rest%%,*}"
        rest="${rest:${#item}}"
        rest="${rest#,}"
        [[ "$item" =~ ^[[:space:]]*(.*[^[:space:]])[[:space:]]*$ ]] && allowed+=("${BASH_REMATCH[1]}")
    done
    if (( ${#allowed[@]} > 0 )); then
        claude_args+=(--allowedTools "${allowed[@]}")
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        claude_args+=(--resume "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        claude_args+=(--append-system-prompt "$loop_context")
    fi

    CLAUDE_CMD_ARGS=(op run --env-file=.env.op --no-masking -- caffeinate -is claude "${claude_args[@]}" -p "$(<"$prompt_file")")
}

driver_prepare_live_command() {
    local -a head=() tail=("${CLAUDE_CMD_ARGS[@]}")
    while (( ${#tail[@]} )); do
        if [[ "${tail[0]}" == "--output-format" ]]; then
            head+=(--output-format stream-json --verbose --include-partial-messages)
            tail=("${tail[@]:2}")
            break
        fi
        head+=("${tail[0]}")
        tail=("${tail[@]:1}")
    done
    LIVE_CMD_ARGS=("${head[@]}" "${tail[@]}")
}

driver_stream_filter() {
    printf '%s\n' \
        'if .type != "stream_event" then empty' \
        'elif .event.delta.type == "text_delta" then .event.delta.text' \
        'elif .event.type == "content_block_start" and .event.content_block.type == "tool_use" then "\n[" + .event.content_block.name + "]\n"' \
        'elif .event.type == "message_stop" then "\n"' \
        'else empty end'
}
