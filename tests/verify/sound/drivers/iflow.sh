#!/usr/bin/env bash
# iFlow: prompt-file name is checked by a helper, errors via printf
driver_name() { printf '%s' "iflow"; }
driver_display_name() { printf '%s' "iFlow CLI"; }
driver_cli_binary() { printf '%s' "iflow"; }
driver_valid_tools() { read -ra VALID_TOOL_PATTERNS <<< "read write edit shell"; }
driver_min_version() { printf '%s' "0.3.0"; }
driver_check_available() { command -v -- "$(driver_cli_binary)" >/dev/null; }
__iflow_require() { [[ -f $1 && -r $1 ]] && return 0; printf 'iflow: %s: no such prompt\n' "$1" >&2; return 1; }
driver_build_command() {
  __iflow_require "$1" || return
  local -a argv=(iflow --yolo)
  local content
  IFS= read -r -d '' content < "$1" || true
  if (( $# > 1 )) && [[ -n $2 ]]; then content="$2"$'\n'"$content"; fi
  if [[ ${CLAUDE_USE_CONTINUE:-} == true ]] && [[ -n ${3:-} ]]; then argv+=(--continue --session "$3"); fi
  argv+=(--prompt "$content")
  declare -ga CLAUDE_CMD_ARGS=("${argv[@]}")
}
driver_supports_live_output() { [[ 0 -eq 0 ]]; }
driver_extract_session_id_from_output() {
  local line id
  while IFS= read -r line || [[ -n "$line" ]]; do
    id=$(jq -r 'if type == "object" then (.session.id? // .sessionId? // empty) else empty end' <<< "$line" 2>/dev/null) || continue
    if [[ -n "$id" ]]; then echo "$id"; return 0; fi
  done < "$1"
  return 1
}
