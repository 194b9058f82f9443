#!/usr/bin/env bash
# agentctl of the platform team: one JSON request as an argument, one event per line back.

driver_name() { echo "agentctl"; }
driver_display_name() { echo "Platform Agent"; }
driver_cli_binary() { echo "agentctl"; }
driver_min_version() { echo "3.2.0"; }
driver_check_available() { command -v agentctl >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("fs.read" "fs.write" "proc.exec" "http.get" "fs.*"); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" request
    if [[ ! -f "$prompt_file" ]]; then
        echo "agentctl: prompt file $prompt_file not found" >&2
        return 1
    fi
    if [[ "$CLAUDE_USE_CONTINUE" != "true" ]]; then
        session_id=""
    fi
    request=$(jq -n -c \
        --rawfile prompt "$prompt_file" \
        --arg context "$loop_context" \
        --arg session "$session_id" \
        --arg tools "${CLAUDE_ALLOWED_TOOLS:-}" '
        {prompt: $prompt, tools: [$tools | split(",")[] | gsub("^\\s+|\\s+$"; "") | select(. != "")]}
        + (if $context == "" then {} else {context: $context} end)
        + (if $session == "" then {} else {session: $session} end)') || return 1
    CLAUDE_CMD_ARGS=(agentctl run --wait --events ndjson --request "$request")
}

driver_stream_filter() {
    cat <<'JQ'
select(.kind == "output" and .from == "agent") | .body.text | strings | . + "\n"
JQ
}

driver_extract_session_id_from_output() {
    local event
    while IFS= read -r event; do
        printf '%s\n' "$event" | jq -r 'select(.kind == "opened") | .session.id // empty' 2>/dev/null
    done <"$1" | head -n 1
}
