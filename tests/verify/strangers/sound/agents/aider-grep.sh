#!/bin/bash
# aider talks plain text only; so there is no JSON here at all.
AGENT_CLI=aider
AGENT_MODEL=${AIDER_MODEL:-sonnet}

agent_invoke() {
  "$AGENT_CLI" --yes-always --no-pretty --no-stream --no-check-update --model "$AGENT_MODEL" --message-file "$1"
}

# what aider says about itself (tokens, commits, files) isn't the model's
agent_extract_response() {
  grep -avE '^(Aider v|Main model:|Weak model:|Git repo:|Repo-map:|Tokens: |Applied edit to |Commit [0-9a-f]{7} |Added .* to the chat)' "$1" || true
}

agent_format_display() {
  local l
  while IFS= read -r l || [ -n "$l" ]; do
    case $l in
      "Aider v"* | "Main model:"* | "Weak model:"* | "Git repo:"* | "Repo-map:"*) ;;
      *) printf '%s\n' "$l" ;;
    esac
  done
}
