#!/usr/bin/env bash
# Company CLI with options from a variable
driver_name() { echo "corp"; }
driver_display_name() { echo "CorpCode"; }
driver_cli_binary() { echo "corp"; }
driver_min_version() { echo "3.0.0"; }
driver_check_available() { command -v corp >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write"); }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_build_command() {
  local prompt ctx="$2"; CLAUDE_CMD_ARGS=(corp agent --batch); local extra; [ -f "$1" ] || return 1
  if [ -n "$CORP_EXTRA_FLAGS" ]; then read -ra extra <<<"$CORP_EXTRA_FLAGS"; CLAUDE_CMD_ARGS+=("${extra[@]}"); fi
  if [ -n "$CORP_MODEL" ]; then CLAUDE_CMD_ARGS+=(--model "$CORP_MODEL"); fi
  CLAUDE_CMD_ARGS+=(--format "${CLAUDE_OUTPUT_FORMAT:-json}")
  if [ "$CLAUDE_USE_CONTINUE" = "true" -a -n "$3" ]; then CLAUDE_CMD_ARGS+=(--session-id "$3"); fi
  prompt=$(cat "$1")
  CLAUDE_CMD_ARGS+=(${ctx:+--system "$ctx"} "--message=$prompt")
}
driver_prepare_live_command() { 
  LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]/#json/stream}")
  local i
  LIVE_CMD_ARGS=()
  for ((i = 0; i < ${#CLAUDE_CMD_ARGS[@]}; i++)); do
    case "${CLAUDE_CMD_ARGS[i]}" in
      --format) LIVE_CMD_ARGS+=(--format stream); ((i++)) ;;
      *) LIVE_CMD_ARGS+=("${CLAUDE_CMD_ARGS[i]}") ;;
    esac
  done
  return 0
}
driver_stream_filter() { echo 'select(.event == "assistant") | .text // empty'; }
driver_extract_session_id_from_output() { jq -rR 'fromjson? | .session // empty' "$1" 2>/dev/null | tail -1; }
