#!/usr/bin/env bash
# shellcheck shell=bash disable=SC2086
AGENT_CLI="${CLAUDE_BIN:-claude}"
AGENT_ARGS="-p --verbose --output-format stream-json --dangerously-skip-permissions"
AGENT_INSTALL="npm install -g @anthropic-ai/claude-code"
AGENT_ENV_KEYS="ANTHROPIC_API_KEY"

agent_invoke() {
  # Node warns about its own punycode module; everything else on stderr stays.
  cat "$1" | $AGENT_CLI $AGENT_ARGS 2> >(grep -v -e 'DeprecationWarning' -e 'punycode' >&2)
}

_claude_new_text='fromjson? | select(type == "object" and .type == "assistant") | .message.content[]? | select(.type? == "text") | .text'

agent_extract_response() {
  jq -Rr "$_claude_new_text" "$1"
}

agent_format_display() {
  jq --unbuffered -Rr 'fromjson? | select(type == "object" and .type? == "assistant") | .message.content[]? |
    if .type? == "text" then .text elif .type? == "tool_use" then "[tool] " + .name else empty end'
}
