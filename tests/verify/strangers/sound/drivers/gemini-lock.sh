#!/bin/bash
# gemini, one at a time per machine (the free tier has few requests per minute)

driver_name() { printf 'gemini-lock\n'; }
driver_display_name() { printf 'Gemini CLI\n'; }
driver_cli_binary() { printf 'gemini\n'; }
driver_min_version() { printf '0.61.0\n'; }
driver_check_available() { command -v gemini >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(read_file write_file replace 'run_shell_command*' glob grep_search web_fetch); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt=
    if ! { prompt=$(cat -- "$1" && echo x); } 2>/dev/null; then
        printf 'no prompt: %s\n' "$1" >&2
        return 1
    fi
    prompt=${prompt%x}
    prompt=${prompt%$'\n'}
    [ -z "$2" ] || prompt="$2"$'\n\n'"$prompt"

    set -- "$3"
    CLAUDE_CMD_ARGS=(flock -w 600 /tmp/gemini.lock ionice -c 3 gemini)
    CLAUDE_CMD_ARGS+=(-o "${CLAUDE_OUTPUT_FORMAT:-json}" --approval-mode yolo --skip-trust)
    local tools
    tools=$(GEMINI_LOCK_LIST="${CLAUDE_ALLOWED_TOOLS-}" awk 'BEGIN {
        n = split(ENVIRON["GEMINI_LOCK_LIST"], entry, ",")
        for (i = 1; i <= n; i++) {
            gsub(/^[ \t]+|[ \t]+$/, "", entry[i])
            if (entry[i] != "") out = out (out == "" ? "" : ",") entry[i]
        }
        print out
    }')
    [ -z "$tools" ] || CLAUDE_CMD_ARGS+=(--allowed-tools "$tools")
    if [ "$CLAUDE_USE_CONTINUE" = true ] && [ -n "$1" ]; then
        CLAUDE_CMD_ARGS+=(-r "$1")
    fi
    CLAUDE_CMD_ARGS+=("--prompt=$prompt")
}

driver_prepare_live_command() {
    LIVE_CMD_ARGS=()
    set -- "${CLAUDE_CMD_ARGS[@]}"
    while [ $# -gt 0 ]; do
        case $1 in
            -o) LIVE_CMD_ARGS+=(-o stream-json); shift 2 ;;
            *) LIVE_CMD_ARGS+=("$1"); shift ;;
        esac
    done
}

driver_stream_filter() {
    cat <<'FILTER'
if .type == "message" then (if .role == "assistant" then .content else empty end)
elif .type == "tool_use" then "\n-> " + .tool_name + "\n"
elif .type == "result" then "\n"
else empty end
FILTER
}

driver_extract_session_id_from_output() {
    sed -n -e 's/^ *"session_id": *"\([^"]*\)".*/\1/p' -e '/"type":"init"/ s/.*"session_id":"\([^"]*\)".*/\1/p' "$1" | sed 1q
}
