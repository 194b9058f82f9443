#!/usr/bin/env bash
AGENT_CLI="docker"
AGENT_IMAGE=${AGENT_IMAGE:-acme/agent:1}
agent_invoke() {
  docker run --rm -i -v "$PWD":/w -w /w "$AGENT_IMAGE" opencode run --format json < "$1"
}
agent_extract_response() {
  local line
  while IFS= read -r line; do jq -r 'select(.type=="text") | .part.text' <<<"$line" 2>/dev/null || true; done < "$1"
}
agent_format_display() {
  local line
  while IFS= read -r line; do jq -r 'select(.type=="text") | .part.text' <<<"$line" 2>/dev/null || true; done
}
