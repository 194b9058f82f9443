#!/usr/bin/env bash
AGENT_CLI="ssh"
AGENT_HOST="${AGENT_HOST:-box}"
AGENT_ARGS="--print --output-format stream-json --verbose"
agent_invoke() { ssh -T "$AGENT_HOST" "claude $AGENT_ARGS" < "$1"; }
agent_extract_response() {
  while IFS= read -r l; do printf '%s' "$l" | jq -r 'select(.type=="assistant") | .message.content[]? | select(.type=="text").text' 2>/dev/null || :; done <"$1"
}
agent_format_display() {
  while IFS= read -r l; do printf '%s' "$l" | jq -r 'select(.type=="assistant") | .message.content[]? | select(.type=="text").text' 2>/dev/null || :; done
}
