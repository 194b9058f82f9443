#!/bin/bash
AGENT_CLI="goose"
AGENT_ARGS=(run --no-session --output-format stream-json --instructions -)

agent_invoke() { cat "$1" | GOOSE_MODE=auto "$AGENT_CLI" "${AGENT_ARGS[@]}"; }

_goose_text='select(type == "object" and .type == "message" and .message.role == "assistant")
    | .message.content[]? | select(.type == "text") | .text'
_goose_tools='select(type == "object" and .type == "message" and .message.role == "assistant")
    | .message.content[]? | select(.type == "toolRequest") | "-> " + (.toolCall.value.name // "tool")'

_goose_each() {
    local l
    while IFS= read -r l || [ -n "$l" ]; do
        case $l in '{'*) jq -r "$1" 2>/dev/null <<<"$l" || true ;; esac
    done
}

agent_extract_response() { _goose_each "$_goose_text" <"$1"; }
agent_format_display()   { _goose_each "($_goose_text), ($_goose_tools)"; }

agent_pre_iteration()  { _GOOSE_STARTED=$SECONDS; }
agent_post_iteration() { log "goose: $((SECONDS - ${_GOOSE_STARTED:-$SECONDS})) s"; }
