#!/usr/bin/env bash
# claude in a throw-away container
AGENT_CLI="docker"
CLAUDE_IMAGE="${CLAUDE_IMAGE:-registry.acme.example/claude-code:2}"

agent_invoke() (
    set -euo pipefail
    args=(run -i --rm --volume "$PWD:/repo" --workdir /repo)
    [[ -z "${ANTHROPIC_API_KEY:-}" ]] || args+=(--env ANTHROPIC_API_KEY)
    "$AGENT_CLI" "${args[@]}" "$CLAUDE_IMAGE" \
        claude -p --verbose --output-format stream-json --dangerously-skip-permissions < "$1"
)

agent_extract_response() {
    jq -R -r '
        fromjson? | objects | select(.type == "assistant") | .message.content[]?
        | select(.type == "text") | .text' < "$1"
}

agent_format_display() {
    jq -R -r --unbuffered '
        fromjson? | objects | select(.type == "assistant") | .message.content[]?
        | if .type == "text" then .text
          elif .type == "tool_use" then "→ \(.name) \(.input | tostring | .[0:120])"
          else empty end'
}
