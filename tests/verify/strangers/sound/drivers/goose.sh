# shellcheck shell=bash disable=SC2034
# Driver: Block's goose (https://block.github.io/goose)
# goose reads its instructions from a file, so nothing has to fit into argv.

_goose_die() {
    printf 'goose driver: %s\n' "$*" >&2
    return 1
}

driver_name() { echo goose; }
driver_display_name() { echo Goose; }
driver_cli_binary() { echo goose; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(developer__shell developer__text_editor "developer__*" todo__write "memory__*"); }

driver_build_command() {
    local prompt_file=$1 loop_context=$2 session_id=$3
    [[ -f $prompt_file ]] || { _goose_die "prompt file '$prompt_file' is missing"; return 1; }

    CLAUDE_CMD_ARGS=(goose run --no-profile --with-builtin developer)
    if [[ ${CLAUDE_OUTPUT_FORMAT:-json} == json ]]; then
        CLAUDE_CMD_ARGS+=(--output-format json)
    else
        CLAUDE_CMD_ARGS+=(--output-format text)
    fi
    if [[ -n $session_id && ${CLAUDE_USE_CONTINUE:-} == true ]]; then
        CLAUDE_CMD_ARGS+=(--resume --session-id "$session_id")
    fi
    if [[ -n $loop_context ]]; then
        CLAUDE_CMD_ARGS+=("--system=$loop_context")
    fi
    CLAUDE_CMD_ARGS+=(--instructions "$prompt_file")
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "goose asks before it uses a tool unless GOOSE_MODE=auto."
    echo "Export GOOSE_MODE=auto, or put it into ~/.config/goose/config.yaml, and start the loop again."
}

driver_prepare_live_command() {
    local word after=no
    LIVE_CMD_ARGS=()
    for word in "${CLAUDE_CMD_ARGS[@]}"; do
        case $after:$word in
            format:*) LIVE_CMD_ARGS+=(stream-json); after=no ;;
            value:*)  LIVE_CMD_ARGS+=("$word"); after=no ;;
            no:--output-format) LIVE_CMD_ARGS+=("$word"); after=format ;;
            no:--session-id | no:--instructions) LIVE_CMD_ARGS+=("$word"); after=value ;;
            *) LIVE_CMD_ARGS+=("$word") ;;
        esac
    done
}

driver_stream_filter() {
    echo 'select(.type == "message") | .message | select(.role == "assistant") | .content[]? | if .type == "text" then .text else empty end'
}

driver_extract_session_id_from_output() {
    # one line of it is {"messages":[...],"metadata":{"session_id":"20260801_3"}}
    local out=${1:-}
    [[ -f $out ]] || return 1
    jq -Rr 'fromjson? | objects | .metadata? | objects | .session_id | strings' -- "$out" 2>/dev/null | tail -n 1
}

driver_min_version() { echo 1.9.0; }
driver_check_available() { hash goose 2>/dev/null; }
