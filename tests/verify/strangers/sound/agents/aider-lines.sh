# Agent: aider. It prints plain text only, so each line is wrapped into {"type":"line","text":...}.
AGENT_CLI=aider
AGENT_ARGS='--yes-always --no-pretty --no-stream --no-check-update --no-show-model-warnings'

agent_invoke() {
  (
    set -o pipefail
    # shellcheck disable=SC2086
    "$AGENT_CLI" $AGENT_ARGS --message-file "$1" </dev/null |
      while IFS= read -r text || [ -n "$text" ]; do
        jq -cn --arg text "$text" '{type: "line", text: $text}'
      done
  )
}

agent_extract_response() {
  while IFS= read -r json || [ -n "$json" ]; do
    printf '%s\n' "$json" | jq -r 'objects | select(.type == "line") | .text' 2>/dev/null || :
  done <"$1"
}

agent_format_display() {
  while IFS= read -r json || [ -n "$json" ]; do
    printf '%s\n' "$json" | jq -r 'objects | select(.type == "line") | .text' 2>/dev/null || :
  done
}
