#!/usr/bin/env bash
# Charm Crush
_crush_die() { echo "crush: $*" >&2; return 1; }
_crush_prompt() {
  # $1 file, $2 context
  if [[ -n $2 ]]; then echo "$2"; echo; fi
  cat -- "$1"
}
driver_name() { echo crush-env; }
driver_display_name() { echo Crush; }
driver_cli_binary() { echo crush; }
driver_min_version() { echo 0.10.0; }
driver_check_available() { command -v crush >/dev/null; }
driver_valid_tools() {
  local t; VALID_TOOL_PATTERNS=()
  for t in bash edit view write ls grep glob; do VALID_TOOL_PATTERNS+=("$t"); done
}
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_build_command() {
  [[ -f ${1-} ]] || { _crush_die "no such prompt: ${1-}"; return 1; }
  CLAUDE_CMD_ARGS=(env CRUSH_NONINTERACTIVE=1 timeout "${CLAUDE_TIMEOUT_MINUTES:-15}m" crush run --yolo "$(_crush_prompt "$1" "${2-}")")
}
