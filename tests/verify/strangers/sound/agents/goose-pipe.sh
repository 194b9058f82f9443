#!/usr/bin/env bash
# goose, instructions on stdin

AGENT_CLI="goose"

goose_pipe_text() {
    jq -r 'objects | select(.type == "message" and .message.role == "assistant")
           | .message.content[]? | select(.type == "text") | .text // empty' 2>/dev/null
    return 0
}

agent_invoke() {
    "$AGENT_CLI" run --no-session --output-format stream-json --instructions - < "$1"
}

agent_extract_response() {
    local event
    while read -r event || test -n "$event"; do
        goose_pipe_text <<< "$event"
    done < "$1"
}

agent_format_display() {
    local event
    while read -r event || test -n "$event"; do
        goose_pipe_text <<< "$event"
    done
}
