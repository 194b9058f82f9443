#!/usr/bin/env bash
driver_name() { echo kiro; }
driver_display_name() { echo "Kiro"; }
driver_cli_binary() { echo "kiro-cli"; }
driver_min_version() { echo "1.0.0"; }
driver_check_available() { command -v kiro-cli >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(fs_read fs_write execute_bash); }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_build_command() {
  local f="$1" c="$2" b; CLAUDE_CMD_ARGS=(); b=""
  [[ -f "$f" ]] || return 1
  b=$( { [[ -n "$c" ]] && printf '%s\n\n' "$c"; cat "$f"; } | base64 | tr -d '\n')
  CLAUDE_CMD_ARGS=(bash -c 'kiro-cli chat --no-interactive --trust-all-tools "$(printf %s "$1" | base64 -d)"' kiro "$b")
}
