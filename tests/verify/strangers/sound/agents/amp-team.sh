AGENT_CLI="amp"
AGENT_ARGS="-x --dangerously-allow-all --stream-json"

agent_invoke() {
    local prompt_file="$1"
    cat "$prompt_file" | $AGENT_CLI $AGENT_ARGS
}

agent_extract_response() {
    local output_file="$1"
    while IFS= read -r line || [ -n "$line" ]; do
        echo "$line" | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text' 2>/dev/null || true
    done < "$output_file"
}

agent_format_display() {
    while IFS= read -r line || [ -n "$line" ]; do
        echo "$line" | jq -r 'select(.type=="assistant") | .message.content[] |
            if .type == "thinking" then "[thinking] " + .thinking
            elif .type == "text" then .text
            elif .type == "tool_use" then "[tool] " + .name
            else empty end' 2>/dev/null || true
    done
}

agent_pre_iteration() {
    _AMP_TEAM_BEFORE=$(amp usage 2>/dev/null | grep -o '\$[0-9.]*' | head -1 | tr -d '$')
}

agent_post_iteration() {
    local after
    after=$(amp usage 2>/dev/null | grep -o '\$[0-9.]*' | head -1 | tr -d '$')
    if [[ -n "${_AMP_TEAM_BEFORE:-}" && -n "$after" ]]; then
        log "Balance: \$$after (was \$$_AMP_TEAM_BEFORE)"
    fi
}
