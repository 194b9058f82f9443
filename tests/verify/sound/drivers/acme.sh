#!/usr/bin/env bash
# company wrapper: takes a request as JSON
driver_name() { echo "acme"; }
driver_display_name() { echo "Acme Agent"; }
driver_cli_binary() { echo "acme-agent"; }
driver_min_version() { echo "2.1.0"; }
driver_check_available() { hash acme-agent 2>/dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("read" "write" "exec"); }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }
driver_build_command() {
  local prompt_file="$1" ctx="${2-}" sid="${3-}" req
  [ -f "$prompt_file" ] || { printf 'not found: %s\n' "$prompt_file" >&2; return 1; }
  req=$(jq -n --rawfile p "$prompt_file" --arg c "$ctx" --arg s "$sid" --arg u "${CLAUDE_USE_CONTINUE:-}" \
     '{prompt: (if $c == "" then $p else $c + "\n\n" + $p end)} + (if $s != "" and $u == "true" then {session: $s} else {} end)') || return 1
  CLAUDE_CMD_ARGS=("acme-agent" "run" "--request" "$req")
}
driver_extract_session_id_from_output() {
  [ -s "$1" ] || return 1
  jq -Rr 'fromjson? | .session_id? // empty' "$1" | head -n1 | grep .
}
