#!/usr/bin/env bash
AGENT_CLI="claude"

agent_invoke() {
    "$AGENT_CLI" -p --output-format stream-json --verbose --dangerously-skip-permissions < "$1" \
        2> >(grep -v 'cosmetic noise' >&2)
}

_claude_text='select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text'

agent_extract_response() {
    [[ -f "$1" ]] || return 1
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r "$_claude_text" 2>/dev/null
    done <"$1"
    return 0
}

agent_format_display() {
    jq --unbuffered -R -r "fromjson? | objects | $_claude_text"
}

agent_post_iteration() { log "one more run of $AGENT_CLI"; }
