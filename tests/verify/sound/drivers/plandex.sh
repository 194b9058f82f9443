#!/usr/bin/env bash
# Prompt by stdin marker: a wrapper shell reads the file.
driver_name() { echo "plandex"; }
driver_display_name() { echo "Plandex"; }
driver_cli_binary() { echo "plandex"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("*"); }
driver_min_version() { echo 2.1.0; }
driver_check_available() { [[ -n "$(command -v plandex)" ]]; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_build_command() {
  local prompt_file="$1" loop_context="$2"
  test -f "$prompt_file" || { echo "no prompt file: $prompt_file" >&2; return 1; }
  CLAUDE_CMD_ARGS=(plandex tell --apply --bg=false)
  if test -n "$loop_context"; then
    CLAUDE_CMD_ARGS+=(--context "$loop_context")
  fi
  CLAUDE_CMD_ARGS+=("@$prompt_file")
  return 0
}
