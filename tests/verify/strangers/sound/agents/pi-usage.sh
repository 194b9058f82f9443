#!/usr/bin/env bash
# pi, with what it cost and how full its context was

AGENT_CLI="pi"
AGENT_ARGS="--mode json --approve --no-session"
AGENT_ENV_KEYS="ANTHROPIC_API_KEY OPENAI_API_KEY"

agent_invoke() {
    local prompt_file="$1"
    ( set -f; exec $AGENT_CLI $AGENT_ARGS ) < "$prompt_file"
}

agent_extract_response() {
    local output_file="$1" line
    while IFS= read -r line || [[ -n "$line" ]]; do
        [[ "$line" == *'"message_end"'* ]] || continue
        jq -r 'select(.type == "message_end" and .message.role == "assistant") | .message.content[] | select(.type == "text") | .text' 2>/dev/null <<<"$line" || continue
    done <"$output_file"
    return 0
}

agent_format_display() {
    local line
    while IFS= read -r line || [[ -n "$line" ]]; do
        jq -r 'select(.type == "message_end" and .message.role == "assistant") | .message.content[]
            | if .type == "text" then .text
              elif .type == "thinking" then "[thinking] " + .thinking
              elif .type == "toolCall" then "[tool] " + .name
              else empty end' 2>/dev/null <<<"$line" || continue
    done
    return 0
}

agent_post_iteration() {
    local used window=200000
    used="$(jq -Rr 'fromjson? | objects | select(.type == "message_end") | .message.usage.input // empty' "${RALPH_DIR:-.}/last_agent_output" 2>/dev/null | tail -n 1)"
    case "$used" in
        "" | *[!0-9]*) return 0 ;;
    esac
    _ITER_CONTEXT_USED=$used
    _ITER_CONTEXT_MAX=$window
    _ITER_CONTEXT_PCT=$((used * 100 / window))
    log "Context: $used/$window tokens ($_ITER_CONTEXT_PCT%)"
}
