AGENT_CLI="amp"
AGENT_ARGS="-x --dangerously-allow-all --stream-json"
agent_invoke() {
    local prompt_file="$1"
    $AGENT_CLI $AGENT_ARGS < "$prompt_file"
}
agent_extract_response() {
    local output_file="$1" line
    while IFS= read -r line || [[ -n "$line" ]]; do
        [[ "$line" == \{* ]] || continue
        jq -r 'select(.type=="assistant") | .message.content[]? | select(.type=="text") | .text' <<<"$line" 2>/dev/null || true
    done < "$output_file"
}
agent_format_display() {
    local line
    while IFS= read -r line || [[ -n "$line" ]]; do
        printf '%s\n' "$line" | jq -r 'select(.type=="assistant") | .message.content[]? |
            if .type == "text" then .text elif .type == "tool_use" then "[tool] \(.name)" else empty end' 2>/dev/null || :
    done
    return 0
}
agent_pre_iteration() { _AMP_PLUS_START=$SECONDS; }
agent_post_iteration() {
    local took=$(( SECONDS - ${_AMP_PLUS_START:-0} ))
    log "Iteration took: ${took}s"
    local f="${RALPH_DIR:-}/last_agent_output"
    [[ -f "$f" ]] || return 0
    local last used max
    last=$(grep -o '"usage":{[^}]*}' "$f" | tail -1) || true
    [[ -n "$last" ]] || return 0
    used=$(sed -n 's/.*"input_tokens":\([0-9]*\).*/\1/p' <<<"$last")
    max=200000
    if [[ -n "$used" ]]; then
        _ITER_CONTEXT_PCT=$(awk -v u="$used" -v m="$max" 'BEGIN { printf "%d", 100 * u / m }')
        _ITER_CONTEXT_MAX=$max
        _ITER_CONTEXT_USED=$used
        log "Context: $used/$max tokens ($_ITER_CONTEXT_PCT%)"
        (( _ITER_CONTEXT_PCT < ${CONTEXT_WARN_PCT:-80} )) || log "⚠ Context usage high"
    fi
}
