#!/usr/bin/env bash
# gemini agent: stream-json, prompt on stdin

set -euo pipefail

AGENT_CLI="gemini"
AGENT_ARGS="--output-format stream-json --approval-mode yolo --skip-trust"

agent_invoke() {
    local prompt_file="$1"
    # shellcheck disable=SC2086
    $AGENT_CLI $AGENT_ARGS < "$prompt_file"
}

# The text comes in pieces ("delta": true), joined without a newline between them.
agent_extract_response() {
    local output_file="$1" line
    while IFS= read -r line || [[ -n "$line" ]]; do
        jq -j 'select(.type? == "message" and .role == "assistant") | .content // empty' <<< "$line" 2>/dev/null || true
    done < "$output_file"
    echo
}

agent_format_display() {
    local line
    while IFS= read -r line || [[ -n "$line" ]]; do
        jq -j '
            if .type == "message" and .role == "assistant" then .content
            elif .type == "tool_use" then "\n[tool] \(.tool_name) \(.parameters | tostring | .[0:160])\n"
            elif .type == "tool_result" and .status == "error" then "[failed] \(.error.message // "")\n"
            elif .type == "result" then "\n"
            else empty end' <<< "$line" 2>/dev/null || true
    done
}
