#!/usr/bin/env bash
# An agent for a CLI that nobody knows, whose events nobody has recorded.
AGENT_CLI="${OWN_CLI:-own-agent}"
agent_invoke() { $AGENT_CLI --ndjson --prompt-file "$1"; }
agent_extract_response() {
    local line
    while IFS= read -r line; do
        case "$line" in '{"say":'*) printf '%s\n' "$line" | sed 's/^{"say":"\(.*\)"}$/\1/' ;; esac
    done <"$1"
}
agent_format_display() { while IFS= read -r line; do case "$line" in '{"say":'*) printf '%s\n' "$line" ;; esac; done; }
