#!/usr/bin/env bash
# aider prints plain text; make events of it
AGENT_CLI="aider"
AGENT_ARGS="--yes-always --no-stream --message-file"
AGENT_INSTALL="pipx install aider-chat"
agent_invoke() {
    "$AGENT_CLI" $AGENT_ARGS "$1" | while IFS= read -r line; do
        jq -cn --arg t "$line" '{type: "text", text: $t}'
    done
    return "${PIPESTATUS[0]}"
}
agent_extract_response() {
    while IFS= read -r line; do
        jq -r 'select(.type == "text") | .text' <<< "$line" 2>/dev/null || true
    done < "$1"
}
agent_format_display() {
    while IFS= read -r line; do
        jq -r 'select(.type == "text") | .text' <<< "$line" 2>/dev/null || true
    done
}
