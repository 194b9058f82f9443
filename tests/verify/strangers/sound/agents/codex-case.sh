#!/usr/bin/env bash
# codex exec
AGENT_CLI="codex"
AGENT_ARGS="exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -"

agent_invoke() { "$AGENT_CLI" $AGENT_ARGS < "$1"; }

agent_extract_response() {
    local l t
    while IFS= read -r l || test -n "$l"; do
        case "$l" in
        *'"item.completed"'*'"agent_message"'*)
            t=$(jq -r '.item | select(.type == "agent_message") | .text' <<< "$l" 2> /dev/null) || continue
            printf '%s\n' "$t"
            ;;
        esac
    done < "$1"
}

agent_format_display() {
    local l
    while IFS= read -r l || test -n "$l"; do
        jq -r '
            if .type == "item.completed" and .item.type == "agent_message" then .item.text
            elif .type == "item.started" and .item.type == "command_execution" then "$ " + .item.command
            elif .type == "error" then "error: " + .message
            else empty end' <<< "$l" 2> /dev/null || true
    done
}
