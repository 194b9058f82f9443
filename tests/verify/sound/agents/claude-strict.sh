#!/usr/bin/env bash
AGENT_CLI="claude"
_cs_args() { printf '%s\n' -p --verbose --output-format stream-json --permission-mode bypassPermissions; }
agent_invoke() {
    local prompt_file="$1"
    local -a args=()
    while IFS= read -r a; do args+=("$a"); done < <(_cs_args)
    (
        set -o pipefail
        cat -- "$prompt_file" | env NO_COLOR=1 "$AGENT_CLI" "${args[@]}"
    )
}
agent_extract_response() {
    jq -Rrn 'inputs | fromjson? | objects | select(.type == "assistant") | .message.content[]? | select(.type? == "text") | .text' "$1"
}
agent_format_display() {
    while IFS= read -r line || [[ -n "$line" ]]; do
        text=$(jq -r 'if .type == "assistant" then (.message.content[]? | if .type == "text" then .text elif .type == "tool_use" then "-> " + .name else empty end) else empty end' <<<"$line" 2>/dev/null)
        if [[ -n "$text" ]]; then
            printf '%s\n' "$text"
        fi
    done
}
agent_post_iteration() {
    [[ -r "${RALPH_DIR:-}/last_agent_output" ]] || return 0
    local cost
    cost=$(grep -o '"total_cost_usd":[0-9.]*' "$RALPH_DIR/last_agent_output" | tail -n 1 | cut -d: -f2)
    [[ -z "$cost" ]] || log "Iteration Cost: \$$cost"
}
