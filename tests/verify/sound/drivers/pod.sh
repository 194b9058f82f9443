#!/usr/bin/env bash
driver_name() { echo "pod"; }
driver_display_name() { echo "opencode in podman"; }
driver_cli_binary() { echo "podman"; }
driver_min_version() { echo "0.1.0"; }
driver_check_available() { command -v podman >/dev/null 2>&1 && podman inspect dev >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(bash edit); }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_build_command() {
  declare pf="$1" cx="$2" sid="$3" extra=""
  [[ -f "$pf" ]] || return 1
  [[ -n "$cx" ]] && extra="$cx"$'\n\n'
  CLAUDE_CMD_ARGS=(podman exec -i -w /src dev opencode run --format json)
  if [[ "$CLAUDE_USE_CONTINUE" == "true" ]] && [[ -n "$sid" ]]; then
    CLAUDE_CMD_ARGS+=("--session=$sid")
  fi
  CLAUDE_CMD_ARGS+=(-- "$extra$(cat "$pf")")
}
driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
driver_stream_filter() { echo 'select(.type=="text") | .part.text + "\n"'; }
driver_extract_session_id_from_output() {
  local id; id=$(grep -ao '"sessionID":"[^"]*"' "$1" 2>/dev/null | head -1 | cut -d'"' -f4)
  [[ -n "$id" ]] && echo "$id"
}
