#!/usr/bin/env bash
AGENT_CLI="kiro-cli"
AGENT_ARGS="chat --no-interactive --trust-all-tools"
agent_invoke() {
  local out rc=0
  out=$($AGENT_CLI $AGENT_ARGS "$(cat "$1")") || rc=$?
  jq -cn --arg r "$out" '{type:"result",result:$r}'
  return $rc
}
agent_extract_response() {
  while IFS= read -r line || [[ -n $line ]]; do
    echo "$line" | jq -r 'select(.type=="result").result' 2>/dev/null || true
  done < "$1"
}
agent_format_display() {
  while IFS= read -r line || [[ -n $line ]]; do
    echo "$line" | jq -r 'select(.type=="result").result' 2>/dev/null || true
  done
}
