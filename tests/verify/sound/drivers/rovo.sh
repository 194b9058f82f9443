#!/bin/bash
# Atlassian Rovo Dev
if [ -n "${ROVO_BIN-}" ]; then _rovo_cmd=$ROVO_BIN; else _rovo_cmd=acli; fi
driver_name() { cat <<< rovo; }
driver_display_name() { cat <<'N'
Rovo Dev
N
}
driver_cli_binary() { echo "$_rovo_cmd"; }
driver_valid_tools() {
  VALID_TOOL_PATTERNS=()
  while read -r one; do VALID_TOOL_PATTERNS+=("$one"); done <<T
open_files
expand_code_chunks
bash
T
  unset one
}
driver_min_version() { echo "1.3.0+build.5"; }
driver_check_available() { if ! command -v "$_rovo_cmd"; then return 1; fi; } >/dev/null 2>&1
driver_build_command() {
  local prompt_file="$1" loop_context="$2" session_id="$3"
  local -a prefix=( "$_rovo_cmd" rovodev run --yolo )
  local -a tail=()
  if [[ ! -f $prompt_file ]]; then echo "rovo: $prompt_file not found" >&2; return 1; fi
  [[ -z $loop_context ]] || tail+=( --context="$loop_context" )
  [[ ${CLAUDE_USE_CONTINUE,,} != true || -z $session_id ]] || tail+=( --restore "$session_id" )
  CLAUDE_CMD_ARGS=( "${prefix[@]}" ${tail[@]+"${tail[@]}"} "$(cat < "$prompt_file")" )
}
driver_stream_filter() { printf '.'; }
driver_supports_live_output() { return 1; }
driver_permission_denial_help() { printf 'Give %s its permission in %s\n' "$DRIVER_DISPLAY_NAME" "$RALPHRC_FILE"; }
