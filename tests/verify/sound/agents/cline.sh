#!/usr/bin/env bash
AGENT_CLI="cline"

agent_invoke() {
    cline -y --json "$(cat "$1")" </dev/null
}

agent_extract_response() {
    while IFS= read -r line; do
        echo "$line" | jq -r 'select(.type=="agent_event") | .event | select(.type=="content_end" and .contentType=="text") | .text' 2>/dev/null || true
    done < "$1"
}

agent_format_display() {
    while IFS= read -r line; do
        echo "$line" | jq -r 'select(.type=="agent_event") | .event |
            if .type=="content_end" and .contentType=="text" then .text
            elif .type=="content_start" and .contentType=="tool" then "[" + .toolName + "]"
            else empty end' 2>/dev/null || true
    done
}
