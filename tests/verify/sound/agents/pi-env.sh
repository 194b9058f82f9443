AGENT_CLI="pi"
AGENT_INSTALL="npm i -g pi"
AGENT_ENV_KEYS=""
: "${PI_MODEL:=sonnet}"
agent_invoke() {
    local prompt_file="$1"
    $AGENT_CLI --mode json --approve --no-session --model "$PI_MODEL" < "$prompt_file" 2> >(
        while IFS= read -r l; do
            case "$l" in
                *"ExperimentalWarning"*) ;;
                *) printf '%s\n' "$l" >&2 ;;
            esac
        done
    )
}
_pi_env_each() {
    local filter="$1" line
    while IFS= read -r line || [[ -n "$line" ]]; do
        [[ -z "$line" ]] && continue
        jq -r "$filter" <<<"$line" 2>/dev/null || true
    done
}
agent_extract_response() {
    _pi_env_each 'select(.type=="message_end" and .message.role=="assistant") | .message.content[]? | select(.type=="text") | .text' < "$1"
}
agent_format_display() {
    _pi_env_each 'select(.type=="message_end" and .message.role=="assistant") | .message.content[]? | if .type=="text" then .text elif .type=="thinking" then "[thinking] " + .thinking else empty end'
}
agent_post_iteration() {
    local cost
    cost=$(jq -Rr 'fromjson? | .usage.cost.total? // empty' "$RALPH_DIR/last_agent_output" 2>/dev/null | awk '{ s += $1 } END { printf "%.4f", s }')
    log "Iteration Cost: \$$cost"
}
