#!/usr/bin/env bash
set -euo pipefail
# codex in a fresh container per iteration; container names would collide in parallel loops, so there is none
AGENT_CLI="docker"
CODEX_IMAGE="${CODEX_IMAGE:-example/codex:latest}"

agent_invoke() {
    local prompt_file="$1"
    docker run --rm -i \
        -v "$PWD":/src -w /src \
        -e OPENAI_API_KEY \
        "$CODEX_IMAGE" \
        codex exec --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check - \
        < "$prompt_file"
}

codex_line() {
    local want="$1" line="$2"
    jq -er --arg want "$want" '
        (.item? // {}) as $item
        | if .type == "item.completed" and $item.type == "agent_message" then $item.text
          elif $want == "display" and .type == "item.started" and $item.type == "command_execution" then "$ \($item.command)"
          elif $want == "display" and .type == "turn.failed" then "[failed] \(.error.message)"
          else empty end' <<<"$line" 2>/dev/null || return 0
}

agent_extract_response() {
    local output_file="$1" l
    while IFS= read -r l || [[ -n $l ]]; do codex_line response "$l"; done <"$output_file"
}

agent_format_display() {
    local l
    while IFS= read -r l || [[ -n $l ]]; do codex_line display "$l"; done
}

agent_pre_iteration() {
    docker image inspect "$CODEX_IMAGE" >/dev/null 2>&1 || log "codex-docker: $CODEX_IMAGE will be pulled"
}
