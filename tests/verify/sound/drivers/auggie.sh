#!/usr/bin/env bash
# Augment. The prompt goes by path.
driver_name()         { echo "auggie"; }
driver_display_name() { echo "Augment"; }
driver_cli_binary()   { echo "auggie"; }
driver_min_version()  { echo "0.5.0"; }
driver_check_available() {
  if command -v auggie >/dev/null 2>&1; then
    return 0
  fi
  return 1
}
driver_valid_tools() {
  VALID_TOOL_PATTERNS=("view" "save-file" "str-replace-editor" "launch-process")
}
_auggie_flags() {
  local -n __auggie_out="$1"
  __auggie_out=(--print --quiet)
  if [[ "${CLAUDE_OUTPUT_FORMAT:-json}" == "json" ]]; then __auggie_out+=(--output-format json); fi
}
driver_build_command() {
  local prompt_file="$1" loop_context="$2" session_id="$3"
  local -a flags=()
  if [[ ! -s "$prompt_file" && ! -f "$prompt_file" ]]; then
    >&2 echo "auggie: prompt file not found: $prompt_file"
    return 1
  fi
  _auggie_flags flags
  CLAUDE_CMD_ARGS=("auggie" "${flags[@]}" --instruction-file "$prompt_file")
  if [[ -n "$loop_context" ]]; then CLAUDE_CMD_ARGS+=("--rules-text=$loop_context"); fi
  case "${CLAUDE_USE_CONTINUE:-}:${session_id:+x}" in
    true:x) CLAUDE_CMD_ARGS+=(--resume "$session_id") ;;
  esac
}
driver_supports_live_output() { return 1; }
driver_permission_denial_help() {
  echo "1. Open ${RALPHRC_FILE}"
  echo "2. Restart ${DRIVER_DISPLAY_NAME}"
}
