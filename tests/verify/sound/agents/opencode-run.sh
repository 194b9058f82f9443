#!/usr/bin/env bash
AGENT_CLI="opencode"
AGENT_ARGS="run --format json"
OPENCODE_RUN_FILTER='select(.type == "text") | .part.text // empty'
agent_invoke() {
  local prompt_file="$1"
  if [[ ! -r "$prompt_file" ]]; then
    echo "opencode-run: cannot read $prompt_file" >&2
    return 1
  fi
  cat "$prompt_file" | $AGENT_CLI $AGENT_ARGS
}
agent_extract_response() {
  local output_file="$1"
  [[ -f "$output_file" ]] || return 0
  while read -r line || [[ -n "$line" ]]; do
    echo "$line" | jq -r "$OPENCODE_RUN_FILTER" 2>/dev/null || true
  done < "$output_file"
}
agent_format_display() {
  grep --line-buffered '^{' | while IFS= read -r line; do
    echo "$line" | jq -r "$OPENCODE_RUN_FILTER" 2>/dev/null || true
  done
}
