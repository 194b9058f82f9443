#!/usr/bin/env bash
# Cursor's CLI is called cursor-agent, or agent in newer installs, and may sit in ~/.local/bin, which isn't always on PATH.

driver_name() { printf 'cursor-agent\n'; }
driver_display_name() { printf 'Cursor Agent\n'; }

__cursor_find() {
    local c
    for c in "${CURSOR_AGENT_BIN:-}" cursor-agent agent "${HOME:-}/.local/bin/cursor-agent"; do
        [ -n "$c" ] || continue
        if command -v "$c" >/dev/null 2>&1; then
            printf '%s\n' "$c"
            return 0
        fi
    done
    return 1
}

driver_cli_binary() { __cursor_find || printf 'cursor-agent\n'; }
driver_check_available() { __cursor_find >/dev/null; }
driver_min_version() { printf '2025.9.0\n'; }

driver_valid_tools() {
    IFS=' ' read -r -a VALID_TOOL_PATTERNS <<< 'read write edit shell grep glob ls web_search mcp'
}

driver_build_command() {
    local prompt binary format
    [ -f "$1" ] || { printf 'no such file: %s\n' "$1" >&2; return 1; }
    prompt=$(< "$1") || return
    binary=$(driver_cli_binary)
    format=json
    if [ "${CLAUDE_OUTPUT_FORMAT-}" = text ]; then format=text; fi

    set -- "$2" "$3" "$prompt"
    CLAUDE_CMD_ARGS=("$binary" --print --force --output-format="$format")
    if [ "${CLAUDE_USE_CONTINUE-}" = true ] && [ "$2" ]; then
        CLAUDE_CMD_ARGS[${#CLAUDE_CMD_ARGS[@]}]=--resume
        CLAUDE_CMD_ARGS[${#CLAUDE_CMD_ARGS[@]}]=$2
    fi
    CLAUDE_CMD_ARGS+=(--)
    if [ "$1" ]; then
        CLAUDE_CMD_ARGS+=("$1"$'\n\n'"$3")
    else
        CLAUDE_CMD_ARGS+=("$3")
    fi
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_permission_denial_help() {
    printf '%s\n' \
        'Cursor refused a command.' \
        'Look at permissions.deny in ~/.cursor/cli-config.json; --force does not override it.'
}

driver_prepare_live_command() {
    local n
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    for ((n = 1; n < ${#LIVE_CMD_ARGS[@]}; n++)); do
        case ${LIVE_CMD_ARGS[n]} in
            --output-format=json | --output-format=text)
                LIVE_CMD_ARGS[n]=--output-format=stream-json
                return 0
                ;;
            --) return 0 ;;
        esac
    done
}

driver_stream_filter() {
    cat << 'END'
# whole messages; the tools by the only key of .tool_call
if .type == "assistant" then
  [.message.content[]? | select(.type == "text") | .text] | join("") | select(length > 0) | . + "\n"
elif .type == "tool_call" and .subtype == "started" then
  "* " + ((.tool_call // {} | keys | first) // "tool" | sub("ToolCall$"; "")) + "\n"
else
  empty
end
END
}
