#!/usr/bin/env bash
# Aider: message file by path, no sessions, plain text.
_AIDER_DRIVER_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=lib/common.sh
source "$_AIDER_DRIVER_DIR/lib/common.sh"

driver_name() { echo "aider"; }
driver_display_name() { echo "Aider"; }
driver_cli_binary() { echo "aider"; }
driver_min_version() { echo "0.80.0"; }
driver_check_available() { rdl_have "$(driver_cli_binary)"; }
driver_valid_tools() {
  VALID_TOOL_PATTERNS=("edit" "run" "lint" "test")
}
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_build_command() {
  local prompt_file="$1" loop_context="${2:-}"
  local prompt
  prompt="$(rdl_read_prompt "$prompt_file")" || return 1
  if [[ -n "$loop_context" ]]; then
    prompt="${loop_context}"$'\n\n'"${prompt}"
  fi
  CLAUDE_CMD_ARGS=("$(driver_cli_binary)" --yes-always --no-pretty --no-stream --message "$prompt")
}
