#!/usr/bin/env bash
# Factory droid (needs log_status of the loop, when there)
_droid_note() {
  if declare -F log_status >/dev/null; then log_status "$@"; else echo "[$1] $2" >&2; fi
}
driver_name() { echo "droid"; }
driver_display_name() { echo "Factory Droid"; }
driver_cli_binary() {
  local candidate
  for candidate in droid factory-droid "$HOME/.local/bin/droid"; do
    if command -v "$candidate" >/dev/null 2>&1; then
      echo "$candidate"
      return 0
    fi
  done
  echo "droid"
}
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read Edit Execute); }
driver_supports_tool_allowlist() { return 0; }
_droid_join() { local IFS=,; printf '%s' "$*"; }
driver_build_command() {
  local prompt_file="$1" loop_context="$2" session_id="$3"
  [[ -f "$prompt_file" ]] || { _droid_note ERROR "Prompt file not found: $prompt_file"; return 1; }
  local bin tool; bin=$(driver_cli_binary)
  CLAUDE_CMD_ARGS=("$bin" exec)
  [[ "${CLAUDE_OUTPUT_FORMAT:-json}" == json ]] && CLAUDE_CMD_ARGS+=(-o json)
  if [[ -n "${CLAUDE_ALLOWED_TOOLS:-}" ]]; then
    local -a wanted=()
    while IFS= read -r tool; do
      tool="$(sed 's/^ *//; s/ *$//' <<<"$tool")"
      [[ -z "$tool" ]] || wanted+=("$tool")
    done < <(tr "," "\n" <<<"$CLAUDE_ALLOWED_TOOLS")
    CLAUDE_CMD_ARGS+=(--enabled-tools "$(_droid_join "${wanted[@]}")")
  fi
  if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
    CLAUDE_CMD_ARGS+=("--session-id" "$session_id")
  fi
  local prompt; prompt=$(cat "$prompt_file")
  [[ -z "$loop_context" ]] || prompt="$loop_context"$'\n\n'"$prompt"
  CLAUDE_CMD_ARGS+=("$prompt")
  return 0
}
driver_prepare_live_command() {
  local i
  LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
  for ((i = 0; i < ${#LIVE_CMD_ARGS[@]} - 1; i++)); do
    if [[ "${LIVE_CMD_ARGS[i]}" == -o && "${LIVE_CMD_ARGS[i+1]}" == json ]]; then
      LIVE_CMD_ARGS[i+1]=stream-json
      break
    fi
  done
}
driver_stream_filter() { echo 'if .type == "message" and .role == "assistant" then .text // empty else empty end'; }
driver_min_version() { echo "0.19.3"; }
driver_check_available() { command -v "$(driver_cli_binary)" >/dev/null 2>&1; }
