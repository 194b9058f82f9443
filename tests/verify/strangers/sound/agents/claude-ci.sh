#!/usr/bin/env bash
set -euo pipefail

AGENT_CLI="claude"
AGENT_ARGS="-p --verbose --output-format stream-json --permission-mode bypassPermissions"

agent_invoke() {
    local prompt_file="$1"
    # shellcheck disable=SC2086
    "$AGENT_CLI" $AGENT_ARGS < "$prompt_file"
}

agent_extract_response() {
    local output_file="$1" line
    while IFS= read -r line || [[ -n "$line" ]]; do
        jq -r 'select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text' <<<"$line" 2>/dev/null || true
    done < "$output_file"
}

agent_format_display() {
    local line
    while IFS= read -r line || [[ -n "$line" ]]; do
        jq -r 'select(.type == "assistant") | .message.content[]? |
            if .type == "text" then .text
            elif .type == "tool_use" then "[tool] " + .name
            else empty end' <<<"$line" 2>/dev/null || true
    done
}

agent_post_iteration() {
    local cost
    cost="$(grep '"type":"result"' "$RALPH_DIR/last_agent_output" 2>/dev/null | tail -n 1 | jq -r '.total_cost_usd // empty' 2>/dev/null || true)"
    if [[ -n "$cost" ]]; then
        log "Iteration Cost: \$$cost"
    fi
}
