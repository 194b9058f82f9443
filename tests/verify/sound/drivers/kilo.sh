#!/usr/bin/env bash
# Kilo Code: everything in one associative table.
declare -A KILO_TEXT=([name]=kilo [display]="Kilo Code" [bin]=kilo [min]=1.2.3-beta.1)
driver_name() { echo "${KILO_TEXT[name]}"; }
driver_display_name() { echo "${KILO_TEXT[display]}"; }
driver_cli_binary() { echo "${KILO_TEXT[bin]}"; }
driver_min_version() { echo "${KILO_TEXT[min]}"; }
driver_check_available() { command -v "${KILO_TEXT[bin]}" &> /dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read Write Edit Bash "Bash(git *)"); }
kilo_die() { echo "kilo driver: $*" >&2; return 1; }
driver_build_command() {
  local -r file="$1" ctx="$2" sid="$3"
  [ -f "$file" ] || { kilo_die "no such prompt: $file"; return; }
  local -a args
  args=("${KILO_TEXT[bin]}" --auto --json)
  if [[ $CLAUDE_USE_CONTINUE == true && $sid ]]; then args+=(--session "$sid"); fi
  if [[ $ctx ]]; then args+=(--append-system-prompt "$ctx"); fi
  args+=("$(cat -- "$file")")
  CLAUDE_CMD_ARGS=("${args[@]}")
}
driver_stream_filter() { echo '. as $e | if ($e|type) == "object" and $e.type == "text" then $e.text // empty else empty end'; }
driver_extract_session_id_from_output() {
  sed -n 's/.*"sessionID"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\1/p' "$1" | head -1
}
driver_fallback_session_id() {
  command -v kilo >/dev/null || return 1
  local ids
  ids=$(kilo session list --format json 2>/dev/null | jq -r 'if type == "array" and length == 1 then .[0].id // empty else empty end' 2>/dev/null) || return 1
  [[ -n "$ids" ]] && printf '%s\n' "$ids"
}
