#!/usr/bin/env bash
# shellcheck disable=SC2034
if [[ -z "${FORGE_DRIVER_BIN:-}" ]]; then
  FORGE_DRIVER_BIN=forge
fi
function driver_name { echo forge; }
function driver_display_name { echo 'Forge'; }
function driver_cli_binary { echo "$FORGE_DRIVER_BIN"; }
function driver_valid_tools { VALID_TOOL_PATTERNS=(read write patch shell); return 0; }
function driver_min_version { echo v0.1.0 | tr -d v; }
function driver_check_available { command -v "$FORGE_DRIVER_BIN" &>/dev/null || return 1; }
function driver_supports_sessions() { :; }
function driver_build_command() {
  local prompt_file=$1 loop_context=${2-} session_id=${3-} text
  if ! text=$(cat "$prompt_file" 2>/dev/null); then
    echo "Can't read $prompt_file" >&2
    return 1
  fi
  CLAUDE_CMD_ARGS=("$FORGE_DRIVER_BIN" --prompt)
  [[ -n $loop_context ]] && text="<context>$loop_context</context>"$'\n'"$text"
  CLAUDE_CMD_ARGS+=("$text")
  if [[ $CLAUDE_USE_CONTINUE == "true" && -n $session_id ]]; then CLAUDE_CMD_ARGS+=(--conversation-id "$session_id"); fi
  return 0
}
