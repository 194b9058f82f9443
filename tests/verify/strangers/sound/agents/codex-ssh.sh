#!/usr/bin/env bash
# codex on another machine. The checkout is the same path there (NFS).

AGENT_CLI=ssh
CODEX_SSH_HOST=${CODEX_SSH_HOST:-gpu-3.internal}

agent_invoke() {
    ssh -T -o BatchMode=yes "$CODEX_SSH_HOST" \
        "cd $(printf '%q' "$PWD") && codex exec --json --sandbox workspace-write -" < "$1"
}

_codex_ssh_messages='select(.type? == "item.completed") | .item | select(.type? == "agent_message") | .text'

agent_extract_response() {
    grep '^{' "$1" | while IFS= read -r json; do
        jq -r "$_codex_ssh_messages" <<< "$json" 2> /dev/null
    done
    return 0
}

agent_format_display() {
    while IFS= read -r json || [[ $json ]]; do
        if [[ $json == "{"* ]]; then
            jq -r "$_codex_ssh_messages" <<< "$json" 2> /dev/null || true
        else
            printf '%s\n' "$json"
        fi
    done
}
