#!/usr/bin/env bash
set -uo pipefail

AGENT_CLI="docker"
CLAUDE_DOCKER_IMAGE="${CLAUDE_DOCKER_IMAGE:-claude-sandbox:latest}"

agent_invoke() {
    local prompt_file="$1"
    docker run --rm -i \
        -v "$(pwd):/repo" -w /repo \
        -e ANTHROPIC_API_KEY \
        "$CLAUDE_DOCKER_IMAGE" \
        claude -p --verbose --output-format stream-json --dangerously-skip-permissions < "$prompt_file"
}

_claude_docker_each_line() {
    local program="$1" line
    while IFS= read -r line || [[ -n "$line" ]]; do
        printf '%s\n' "$line" | jq -r "$program" 2>/dev/null || :
    done
}

agent_extract_response() {
    _claude_docker_each_line 'select(.type == "assistant" and .parent_tool_use_id == null) | .message.content[] | select(.type == "text") | .text' < "$1"
}

agent_format_display() {
    _claude_docker_each_line 'select(.type == "assistant") | .message.content[]
        | {text: (.text // ""), tool_use: ("-> " + (.name // "")), thinking: ""}[.type] // "" | select(. != "")'
}
