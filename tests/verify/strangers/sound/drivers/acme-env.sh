#!/usr/bin/env bash
# acme-code takes everything from its environment (ACME_PROMPT, ACME_CONTEXT, ACME_SESSION)

driver_name() { echo "acme-env"; }
driver_display_name() { echo "ACME Code"; }
driver_cli_binary() { echo "acme-code"; }
driver_min_version() { echo "4.0.0"; }
driver_check_available() { command -v acme-code >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("edit" "run" "search" "web"); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" entry list=""
    local -a vars=()

    [ -f "$prompt_file" ] || return 1
    vars+=("ACME_PROMPT=$(cat "$prompt_file")")
    if [ -n "$loop_context" ]; then vars+=("ACME_CONTEXT=$loop_context"); fi
    if [ "$CLAUDE_USE_CONTINUE" = "true" ] && [ -n "$session_id" ]; then vars+=("ACME_SESSION=$session_id"); fi

    while IFS= read -r -d , entry; do
        entry=$(printf '%s' "$entry" | sed 's/^[[:blank:]]*//; s/[[:blank:]]*$//')
        [ -z "$entry" ] || list="$list${list:+,}$entry"
    done <<<"${CLAUDE_ALLOWED_TOOLS:-},"
    if [ -n "$list" ]; then vars+=("ACME_TOOLS=$list"); fi

    CLAUDE_CMD_ARGS=(env "${vars[@]}" acme-code --headless --format="${CLAUDE_OUTPUT_FORMAT:-json}")
}

driver_prepare_live_command() {
    local -a live=()
    local arg
    for arg in "${CLAUDE_CMD_ARGS[@]}"; do
        case "$arg" in
            --format=*) live+=("--format=ndjson") ;;
            *) live+=("$arg") ;;
        esac
    done
    LIVE_CMD_ARGS=("${live[@]}")
}

driver_stream_filter() {
    echo 'select(.t == "say" and .who == "agent") | .msg + "\n"'
}

driver_extract_session_id_from_output() {
    grep -a -o '"session":{"id":"[^"]*"' "$1" | tail -n 1 | sed 's/.*"id":"//; s/"$//'
}
