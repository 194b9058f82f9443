#!/usr/bin/env bash
# Sourcegraph Amp. `threads continue ID` is how it resumes.
declare -r AMP_CODE_DEFAULT_BIN=amp

driver_name() { echo "amp-code"; }
driver_display_name() { echo "Sourcegraph Amp"; }
driver_cli_binary() { echo "${AMP_CODE_BIN:-$AMP_CODE_DEFAULT_BIN}"; }
driver_valid_tools() {
  mapfile -t VALID_TOOL_PATTERNS <<'TOOLS'
Read
edit_file
create_file
Bash
Grep
TOOLS
}
driver_supports_tool_allowlist() { return 1; }
driver_permission_denial_help() {
  local name="${DRIVER_DISPLAY_NAME:-Amp}" rc="${RALPHRC_FILE:-.ralphrc}"
  printf '%s\n' \
    "$name refused a tool." \
    "Look into $rc and ~/.config/amp/settings.json."
}
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
  local prompt_file="$1" loop_context="$2" session_id="$3" prompt
  CLAUDE_CMD_ARGS=()
  if ! [[ -e "$prompt_file" ]]; then
    echo "Error: prompt $prompt_file is missing" 1>&2
    return 1
  fi
  CLAUDE_CMD_ARGS+=("$(driver_cli_binary)")
  if [[ "${CLAUDE_USE_CONTINUE:-}" = "true" && -n "$session_id" ]]; then
    CLAUDE_CMD_ARGS+=(threads continue "$session_id")
  fi
  CLAUDE_CMD_ARGS+=(--dangerously-allow-all)
  [[ "${CLAUDE_OUTPUT_FORMAT:-json}" == "text" ]] || CLAUDE_CMD_ARGS+=(--stream-json)
  prompt="$(< "$prompt_file")"
  CLAUDE_CMD_ARGS+=(-x "${loop_context:+$loop_context$'\n\n'}$prompt")
}

driver_prepare_live_command() { LIVE_CMD_ARGS=( "${CLAUDE_CMD_ARGS[@]}" ); }

driver_stream_filter() {
  local filter='select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text'
  echo "$filter"
}
driver_min_version() { echo "0.0.1"; }
driver_check_available() { hash "$(driver_cli_binary)" 2>/dev/null; }
