#!/usr/bin/env bash
# pi (badlogic/pi-mono), the short version
driver_name() { echo pi; }; driver_display_name() { echo Pi; }; driver_cli_binary() { echo pi; }
driver_min_version() { echo 0.20.0; }; driver_check_available() { command -v pi >/dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(read bash edit write grep find ls); }
driver_supports_tool_allowlist() { return 1; }; driver_supports_sessions() { return 0; }; driver_supports_live_output() { return 0; }
driver_permission_denial_help() { echo "pi has no permissions; the refusal came from the system."; }
driver_build_command() {
  [ -f "$1" ] || return 1
  local m=json r=(); [ "${CLAUDE_OUTPUT_FORMAT:-json}" = json ] || m=text
  [ "$CLAUDE_USE_CONTINUE" = true ] && [ -n "$3" ] && r=(--session "$3")
  CLAUDE_CMD_ARGS=(pi --mode "$m" ${r[@]+"${r[@]}"} ${2:+--append-system-prompt "$2"} --print "@$1")
}
driver_prepare_live_command() { LIVE_CMD_ARGS=(pi --mode json "${CLAUDE_CMD_ARGS[@]:3}"); }
driver_stream_filter() { echo 'select(.type=="message_update")|.assistantMessageEvent|select(.type=="text_delta")|.delta'; }
driver_extract_session_id_from_output() { head -n 1 "$1" | jq -r 'select(.type=="session")|.id' 2>/dev/null; }
