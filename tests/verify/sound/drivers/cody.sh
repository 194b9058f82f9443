#!/usr/bin/env bash
# guarded against being sourced twice
[[ -n "${CODY_DRIVER_LOADED:-}" ]] && return 0
CODY_DRIVER_LOADED=1
driver_name() { echo "cody"; }
driver_display_name() { echo "Cody (Sourcegraph)"; }
driver_cli_binary() { echo "cody"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Edit"); }
driver_min_version() { echo "5.5.0"; }
driver_check_available() { command -v cody &>/dev/null; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 0; }
driver_supports_tool_allowlist() { return 1; }
driver_build_command() {
  local prompt_file="$1"
  local loop_context="$2"
  if [[ ! -f "$prompt_file" ]]; then
    echo "ERROR: Prompt file not found: $prompt_file" >&2
    return 1
  fi
  local prompt_content
  prompt_content=$(cat "$prompt_file")
  if [[ -n "$loop_context" ]]; then
    prompt_content="$loop_context

$prompt_content"
  fi
  CLAUDE_CMD_ARGS=("cody" "chat" "--stdin=false")
  if [[ "${CLAUDE_OUTPUT_FORMAT}" == "json" ]]; then
    CLAUDE_CMD_ARGS+=("--json")
  else
    CLAUDE_CMD_ARGS+=("--plain")
  fi
  CLAUDE_CMD_ARGS+=("-m" "$prompt_content")
}
driver_stream_filter() { echo 'empty'; }
