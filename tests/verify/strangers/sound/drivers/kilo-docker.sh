#!/usr/bin/env bash
# Kilo Code CLI in a container.
#
# .ralphrc:
#   KILO_IMAGE      default ghcr.io/kilo-org/cli:latest
#   KILO_PASS_ENV   names of variables to hand in, blank separated
#   KILO_MODE       architect, code (default), debug

: "${KILO_IMAGE:=ghcr.io/kilo-org/cli:latest}"
: "${KILO_MODE:=code}"

driver_name() { echo kilo-docker; }

driver_display_name() { echo 'Kilo Code'; }

driver_cli_binary() { echo docker; }

driver_min_version() { echo 0.5.0; }

driver_check_available() { command -v docker &> /dev/null; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        read_file write_to_file apply_diff insert_content search_files list_files
        execute_command "execute_command(*)" browser_action use_mcp_tool
    )
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "Inside of the container everything is allowed; outside of it nothing is."
    echo "Mount what is missing (see ${RALPHRC_FILE:-.ralphrc})."
}

_kilo_container() {
    # prints nothing, fills the array of the caller
    local name
    run=(docker run --rm --init -v "$PWD:/work" -w /work --user "$(id -u):$(id -g)")
    for name in ${KILO_PASS_ENV:-KILO_API_KEY}; do
        run+=(-e "$name")
    done
    run+=("$KILO_IMAGE")
}

driver_build_command() {
    local prompt_file=$1 loop_context=$2 session_id=$3
    local -a run cli
    local message

    [ -f "$prompt_file" ] || { echo "kilo: $prompt_file is not there" >&2; return 1; }
    message=$(< "$prompt_file")

    cli=(kilocode --auto --mode "$KILO_MODE")
    case "${CLAUDE_OUTPUT_FORMAT:-json}" in
        json) cli+=(--json) ;;
        text) ;;
        *) echo "kilo: unknown format $CLAUDE_OUTPUT_FORMAT" >&2; return 1 ;;
    esac
    if [ "$CLAUDE_USE_CONTINUE" = "true" ] && [ "$session_id" != "" ]; then
        cli+=("--session=$session_id")
    fi
    if [ -n "$loop_context" ]; then
        cli+=("--append-system-prompt=$loop_context")
    fi

    _kilo_container
    CLAUDE_CMD_ARGS=("${run[@]}" "${cli[@]}" -- "$message")
}

driver_prepare_live_command() {
    LIVE_CMD_ARGS=()
    local word seen=no
    for word in "${CLAUDE_CMD_ARGS[@]}"; do
        # text or json, live it is always the event stream
        if [ "$seen" = no ] && [ "$word" = --json ]; then
            word=--json-stream seen=yes
        elif [ "$seen" = no ] && [ "$word" = -- ]; then
            LIVE_CMD_ARGS+=(--json-stream) seen=yes
        fi
        LIVE_CMD_ARGS+=("$word")
    done
}

driver_stream_filter() {
    local f='select(type == "object")'
    f+=' | select(.source == "extension" and .type == "say" and .partial == false)'
    f+=' | if .say == "text" or .say == "completion_result" then .content'
    f+='   elif .say == "tool" then "[" + (.metadata.tool // "tool") + "]" else empty end'
    f+=' | . + "\n"'
    echo "$f"
}

driver_extract_session_id_from_output() {
    local line id
    while IFS= read -r line || [[ -n "$line" ]]; do
        case "$line" in
            '{'*'"taskId"'*) ;;
            *) continue ;;
        esac
        id=$(jq -r 'select(.source == "cli") | .taskId // empty' <<< "$line" 2> /dev/null) || continue
        if [[ -n "$id" ]]; then echo "$id"; return 0; fi
    done < "$1"
    return 1
}
