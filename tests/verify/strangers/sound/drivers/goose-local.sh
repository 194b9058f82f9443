# goose (block/goose), headless. The prompt goes by its path, the loop's context as a system prompt.
driver_name() { echo goose-local; }
driver_display_name() { echo Goose; }
driver_cli_binary() { echo goose; }
driver_min_version() { echo 1.10.0; }
driver_check_available() { command -v goose > /dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("developer__shell" "developer__text_editor" "developer__analyze" "todo__*" "Bash" "Read" "Write"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
  local prompt_file=$1 loop_context=$2 session_id=$3
  if ! [ -f "$prompt_file" ]; then
    echo "no such prompt: $prompt_file" 1>&2
    return 1
  fi
  CLAUDE_CMD_ARGS=(goose run --quiet --output-format "${CLAUDE_OUTPUT_FORMAT:-json}")
  if [ "$CLAUDE_USE_CONTINUE" = "true" ] && [ -n "$session_id" ]; then
    CLAUDE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" --resume --session-id "$session_id")
  fi
  if [ -n "$loop_context" ]; then
    CLAUDE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" --system "$loop_context")
  fi
  CLAUDE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" --instructions "$prompt_file")
}

driver_prepare_live_command() {
  LIVE_CMD_ARGS=()
  local skip= word
  for word in "${CLAUDE_CMD_ARGS[@]}"; do
    if [ -n "$skip" ]; then
      LIVE_CMD_ARGS+=(stream-json)
      skip=
    else
      LIVE_CMD_ARGS+=("$word")
      case $word in --output-format) skip=1 ;; esac
    fi
  done
}

driver_stream_filter() {
  cat << 'END'
if .type == "message" and .message.role == "assistant" then
  [.message.content[]? | select(.type == "text") | .text] | join("") | if . == "" then empty else . + "\n" end
else empty end
END
}

driver_extract_session_id_from_output() {
  jq -R -r 'fromjson? | objects | select(.type == "session") | .id // empty' < "$1" 2> /dev/null | tail -n 1
}
