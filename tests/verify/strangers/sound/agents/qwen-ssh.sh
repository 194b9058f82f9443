#!/usr/bin/env bash
# Qwen Code on another machine. stdin, stdout and the exit status are ssh's business.
AGENT_CLI="ssh"
AGENT_ARGS="-T -o BatchMode=yes ${QWEN_SSH_HOST:-gpu.example}"
AGENT_REMOTE='cd "$HOME/work" && exec qwen --output-format stream-json --approval-mode yolo'

agent_invoke() {
    local prompt_file="$1"
    # shellcheck disable=SC2086
    cat "$prompt_file" | $AGENT_CLI $AGENT_ARGS "$AGENT_REMOTE"
}

agent_extract_response() {
    local output_file="$1" line
    while IFS= read -r line || [[ -n "$line" ]]; do
        echo "$line" | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text' 2>/dev/null || true
    done < "$output_file"
}

agent_format_display() {
    local line
    while IFS= read -r line || [[ -n "$line" ]]; do
        echo "$line" | jq -r 'select(.type=="assistant") | .message.content[] |
            if .type == "text" then .text
            elif .type == "tool_use" then "[tool] " + .name
            else empty end' 2>/dev/null || true
    done
}
