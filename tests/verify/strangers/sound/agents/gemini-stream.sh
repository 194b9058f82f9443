# Gemini CLI, stream-json. One jq for all lines: -R and fromjson? pass over whatever is no JSON.
AGENT_CLI=gemini
AGENT_ARGS='--output-format stream-json --approval-mode yolo --skip-trust'
AGENT_INSTALL='npm install -g @google/gemini-cli'
AGENT_ENV_KEYS='GEMINI_API_KEY'

agent_invoke() { $AGENT_CLI $AGENT_ARGS <"$1"; }

agent_extract_response() {
  jq -Rj 'fromjson? | objects | select(.type == "message" and .role == "assistant") | .content // empty' "$1"
  echo
}

agent_format_display() {
  jq -Rj --unbuffered '
    fromjson? | objects
    | if .type == "message" and .role == "assistant" then .content // empty
      elif .type == "tool_use" then "\n[tool] \(.tool_name)\n"
      elif .type == "error" then "\n[\(.severity)] \(.message)\n"
      elif .type == "result" then "\n"
      else empty end'
}
