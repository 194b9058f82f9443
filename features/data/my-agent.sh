#!/usr/bin/env bash
# The smallest agent worth having: copy it, name it after your program, and fill in what yours does.
# shellcheck disable=SC2034  # the loop reads AGENT_CLI

AGENT_CLI="my-agent"
AGENT_ARGS="--auto-approve --output json-lines"

agent_invoke() {
    # shellcheck disable=SC2086  # split at blanks, by convention
    "$AGENT_CLI" ${AGENT_ARGS:-} < "$1"
}

agent_extract_response() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r 'select(.type == "assistant") | .text' 2>/dev/null || true
    done < "$1"
}

agent_format_display() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            if .type == "assistant" then .text
            elif .type == "tool" then "[tool] " + .name
            else empty end' 2>/dev/null || true
    done
}
