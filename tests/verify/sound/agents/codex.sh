#!/usr/bin/env bash
AGENT_CLI=codex
AGENT_ARGS=(exec --json --sandbox workspace-write -)

agent_invoke() { "$AGENT_CLI" "${AGENT_ARGS[@]}" <"$1"; }

agent_extract_response() {
    jq -R -r 'fromjson? | objects | select(.type == "item.completed") | .item | select(.type == "agent_message") | .text' "$1"
}

agent_format_display() {
    local line
    while IFS= read -r line || [[ -n "$line" ]]; do
        jq -r 'if .type == "item.completed" and .item.type == "agent_message" then .item.text
               elif .item.type == "command_execution" then "$ " + .item.command
               else empty end' <<<"$line" 2>/dev/null || :
    done
}
