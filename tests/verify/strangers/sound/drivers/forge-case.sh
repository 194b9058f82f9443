#!/usr/bin/env bash
# Forge. The command is put together by a little table of options.

FORGE_OPTIONS="agent format session prompt"

driver_name() { echo "forge-case"; }
driver_display_name() { echo "Forge"; }
driver_cli_binary() { echo "forge"; }
driver_min_version() { echo "1.0.0"; }
driver_check_available() { command -v forge >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("read" "write" "patch" "shell" "fetch" "search"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="" loop_context="" session_id="" option OPTIND=1 OPTARG
    set -- -f "$1" -c "$2" -s "$3"
    while getopts "f:c:s:" option; do
        case "$option" in
            f) prompt_file="$OPTARG" ;;
            c) loop_context="$OPTARG" ;;
            s) session_id="$OPTARG" ;;
            *) return 1 ;;
        esac
    done
    if [[ ! -f "$prompt_file" ]]; then
        return 1
    fi

    CLAUDE_CMD_ARGS=("forge")
    for option in $FORGE_OPTIONS; do
        case "$option" in
            agent) CLAUDE_CMD_ARGS+=("--agent" "${FORGE_AGENT:-forge}") ;;
            format) CLAUDE_CMD_ARGS+=("--events" "json") ;;
            session)
                if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
                    CLAUDE_CMD_ARGS+=("--conversation-id" "$session_id")
                fi
                ;;
            prompt)
                if [[ -n "$loop_context" ]]; then
                    CLAUDE_CMD_ARGS+=("--event-context" "$loop_context")
                fi
                CLAUDE_CMD_ARGS+=("--prompt" "$(cat "$prompt_file")")
                ;;
        esac
    done
    return 0
}

driver_stream_filter() {
    echo 'if .type == "assistant.text" then .data.text elif .type == "tool.start" then "\n* " + .data.name + "\n" else empty end'
}

driver_extract_session_id_from_output() {
    sed -n '/"type":"conversation.started"/ s/.*"conversation_id":"\([^"]*\)".*/\1/p' "$1" | head -1
}
