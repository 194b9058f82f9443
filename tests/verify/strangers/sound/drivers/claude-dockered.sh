#!/usr/bin/env bash
# Claude Code inside a throw-away container; only the project is mounted.

CLAUDE_DOCKER_IMAGE="${CLAUDE_DOCKER_IMAGE:-ghcr.io/example/claude-code:2}"

driver_name()         { echo "claude-dockered"; }
driver_display_name() { echo "Claude Code (container)"; }
driver_cli_binary()   { echo "docker"; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=("Bash" "Bash(*)" "Edit" "Glob" "Grep" "Read" "Task" "WebFetch" "Write" "mcp__*")
}

driver_build_command() {
    local prompt_file="$1" ctx="$2" session="$3" IFS=$' \t\n'
    local prompt tool
    local -a run claude tools

    if [ ! -f "$prompt_file" ]; then
        echo "claude-dockered: $prompt_file: no such prompt file" >&2
        return 1
    fi
    prompt=$(cat "$prompt_file"; printf x)
    prompt=${prompt%x}

    run=(docker run --rm --interactive --init
         --volume "$PWD:/work" --workdir /work
         --volume "${HOME:-/root}/.claude:/home/node/.claude"
         --env ANTHROPIC_API_KEY --env IS_SANDBOX=1
         "$CLAUDE_DOCKER_IMAGE")

    claude=(claude --permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    if [ "${CLAUDE_OUTPUT_FORMAT:-json}" = text ]; then
        claude+=(--output-format text)
    else
        claude+=(--output-format json)
    fi

    tools=()
    while IFS= read -r tool; do
        tool=$(sed 's/^[[:space:]]*//; s/[[:space:]]*$//' <<<"$tool")
        if [ -n "$tool" ]; then tools+=("$tool"); fi
    done < <(tr ',' '\n' <<<"${CLAUDE_ALLOWED_TOOLS:-}")
    if [ "${#tools[@]}" -gt 0 ]; then claude+=(--allowedTools "${tools[@]}"); fi

    if [ -n "$session" ] && [ "${CLAUDE_USE_CONTINUE:-}" = true ]; then
        claude+=(--resume "$session")
    fi
    if [ -n "$ctx" ]; then
        claude+=(--append-system-prompt "$ctx")
    fi
    claude+=(--print -- "$prompt")

    CLAUDE_CMD_ARGS=("${run[@]}" "${claude[@]}")
}

driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions()       { return 0; }
driver_supports_live_output()    { return 0; }

driver_permission_denial_help() {
    printf '%s\n' "Claude was refused a tool inside the container." \
        "Extend ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}, or set CLAUDE_PERMISSION_MODE=bypassPermissions."
}

driver_prepare_live_command() {
    local w take=
    LIVE_CMD_ARGS=()
    for w in "${CLAUDE_CMD_ARGS[@]}"; do
        case "$take" in
            skip) take= ;;
            format) w=stream-json take= ;;
            '')
                case "$w" in
                    --output-format) take=format ;;
                    --append-system-prompt | --resume | --permission-mode) take=skip ;;
                    --print) LIVE_CMD_ARGS+=(--verbose --include-partial-messages) take=end ;;
                esac ;;
        esac
        LIVE_CMD_ARGS+=("$w")
    done
}

driver_stream_filter() {
    echo 'if .type == "stream_event" then
            (if .event.type == "content_block_delta" and .event.delta.type == "text_delta" then .event.delta.text
             elif .event.type == "content_block_start" and .event.content_block.type == "tool_use"
               then "\n> " + .event.content_block.name + "\n"
             elif .event.type == "content_block_stop" then "\n"
             else empty end)
          else empty end'
}

driver_min_version()     { echo "2.0.76"; }
driver_check_available() { command -v docker >/dev/null 2>&1 && docker image inspect "$CLAUDE_DOCKER_IMAGE" >/dev/null 2>&1; }
