#!/usr/bin/env bash
# cline 3 reads its prompt from the command line only when --json is given

AGENT_CLI="cline"
AGENT_ARGS="-y --json"

agent_invoke() {
    local prompt
    prompt="$(cat "$1")" || return 1
    # shellcheck disable=SC2086
    "$AGENT_CLI" $AGENT_ARGS -- "$prompt" </dev/null
}

agent_extract_response() {
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s' "$line" | jq -r 'select(.type == "agent_event") | .event | select(.type == "content_end" and .contentType == "text") | .text // empty' 2>/dev/null || true
    done < "$1"
}

agent_format_display() {
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s' "$line" | jq -r '
            if .type == "agent_event" and .event.type == "content_end" and .event.contentType == "text" then .event.text // empty
            elif .type == "hook_event" and .hookEventName == "tool_call" then "[tool]"
            else empty end' 2>/dev/null || true
    done
}
