#!/usr/bin/env bash
driver_name() { echo "cursor-like"; }
driver_display_name() { echo "Cursor-like CLI"; }
_cl_windows() { [[ "${OS:-}" == "Windows_NT" || "${OSTYPE:-}" == msys* ]]; }
_cl_find() {
  local IFS=: d
  for d in $PATH; do
    [[ -x "$d/$1" && ! -d "$d/$1" ]] && { printf '%s\n' "$d/$1"; return 0; }
  done
  return 1
}
driver_cli_binary() { local found; if _cl_windows && found=$(_cl_find cursor-like.cmd); then echo "$found"; else echo cursor-like; fi; }
driver_min_version() { echo 0.1.0; }
driver_check_available() { _cl_find "$(basename "$(driver_cli_binary)")" >/dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read Write Shell "Shell(git)"); }
driver_build_command() {
  local -a out; local rc=0
  _cl_compose "$@" || return $?
}
_cl_compose() {
  local prompt; prompt=$(_cl_prompt "$1" "${2-}") || return 1
  CLAUDE_CMD_ARGS=("$(driver_cli_binary)" -p --force)
  [[ ${CLAUDE_OUTPUT_FORMAT-} == json ]] && CLAUDE_CMD_ARGS+=(--output-format json)
  [[ ${CLAUDE_USE_CONTINUE-} == true && ${3-} ]] && CLAUDE_CMD_ARGS+=(--resume "$3")
  CLAUDE_CMD_ARGS+=("$prompt")
}
_cl_prompt() {
  [[ -f "$1" ]] || { printf 'ERROR: Prompt file not found: %s\n' "$1" >&2; return 1; }
  [[ -z "$2" ]] || printf '%s\n\n' "$2"
  cat "$1"
}
driver_prepare_live_command() {
  LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
  local i n=${#LIVE_CMD_ARGS[@]}
  for ((i = 1; i < n; i++)); do
    [[ ${LIVE_CMD_ARGS[i-1]} == --output-format ]] && LIVE_CMD_ARGS[i]=stream-json
  done
  return 0
}
driver_stream_filter() {
  printf '%s\n' 'if .type == "assistant" then' '  [.message.content[]? | select(.type == "text") | .text] | join("")' 'else empty end'
}
