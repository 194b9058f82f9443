#!/usr/bin/env bash
# "relay", our gateway to whichever model is cheapest today. It takes a JSON job on stdin and answers with NDJSON:
#   {"kind":"ack","job":"..."}  {"kind":"chunk","from":"model","body":"..."}  {"kind":"chunk","from":"tool",...}
#   {"kind":"end","status":"ok"}

AGENT_CLI=relay
RELAY_QUEUE=${RELAY_QUEUE:-default}

agent_invoke() {
  local job
  job=$(jq -Rs --arg queue "$RELAY_QUEUE" '{queue: $queue, task: .}' "$1") || return 1
  printf '%s\n' "$job" | "$AGENT_CLI" submit --wait --ndjson -
}

relay_body() {
  jq -r 'select(.kind == "chunk" and .from == "model") | .body' 2>/dev/null
}

agent_extract_response() {
  local line
  while read -r line || [[ $line ]]; do
    [[ $line == '{'* ]] || continue
    relay_body <<<"$line" || continue
  done <"$1"
  return 0
}

agent_format_display() {
  local line
  while read -r line || [[ $line ]]; do
    case "$line" in
      *'"from":"tool"'*) jq -r '"[tool] " + (.name // "?")' <<<"$line" 2>/dev/null || : ;;
      *'"kind":"chunk"'*) relay_body <<<"$line" || : ;;
    esac
  done
}
