AGENT_CLI=codex
readonly CODEX_EXEC_FLAGS=(exec --json --skip-git-repo-check -)
agent_invoke() {
  local prompt_file=$1
  "$AGENT_CLI" "${CODEX_EXEC_FLAGS[@]}" <"$prompt_file"
}
_codex_exec_line() {
  local kind="$1" line="$2"
  case "$kind" in
    text) jq -r 'select(.type == "item.completed") | .item | select(.type == "agent_message") | .text' <<<"$line" ;;
    all) jq -r 'select(.type == "item.completed") | .item | if .type == "agent_message" then .text elif .type == "command_execution" then "$ " + (.command // "") else empty end' <<<"$line" ;;
  esac 2>/dev/null || true
}
agent_extract_response() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do _codex_exec_line text "$line"; done <"$1"
}
agent_format_display() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do _codex_exec_line all "$line"; done
}
