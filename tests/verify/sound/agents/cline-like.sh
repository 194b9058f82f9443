AGENT_CLI="cline"
AGENT_ARGS="-y --json"
agent_invoke() {
    local prompt_file="$1" rc=0
    cat "$prompt_file" | $AGENT_CLI $AGENT_ARGS || rc=$?
    return "$rc"
}
agent_extract_response() {
    grep '^{' "$1" | while IFS= read -r line; do
        printf '%s' "$line" | jq -r 'select(.type == "say" and (.say == "text" or .say == "completion_result")) | .text // empty' 2>/dev/null || true
    done
}
agent_format_display() {
    while IFS= read -r line; do
        printf '%s' "$line" | jq -r 'if .type == "say" and .say == "reasoning" then "[reasoning] " + (.text // "") elif .type == "say" and (.say | IN("text", "completion_result")) then (.text // empty) else empty end' 2>/dev/null || true
    done
}
agent_pre_iteration() {
    _CLINE_PRE_COST=0
    local hist="${HOME}/.cline/data/state/taskHistory.json"
    if [[ -f "$hist" ]]; then _CLINE_PRE_COST=$(jq -r '.[0].totalCost // 0' "$hist" 2>/dev/null || echo 0); fi
}
agent_post_iteration() {
    local hist="${HOME}/.cline/data/state/taskHistory.json" now
    [[ -f "$hist" ]] || return 0
    now=$(jq -r '.[0].totalCost // 0' "$hist" 2>/dev/null || echo 0)
    log "Iteration Cost: \$$(awk "BEGIN { printf \"%.4f\", $now - ${_CLINE_PRE_COST:-0} }")"
}
