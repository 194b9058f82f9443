#!/usr/bin/env bash
# Aider: plain text, one message per run, no sessions.

driver_name() {
  echo "aider-plain"
}

driver_display_name() {
  echo "Aider"
}

driver_cli_binary() {
  echo "aider"
}

driver_valid_tools() {
  # aider edits files and runs commands; nothing of it can be listed
  VALID_TOOL_PATTERNS=("*")
}

driver_supports_tool_allowlist() {
  return 1
}

driver_supports_sessions() {
  return 1
}

driver_supports_live_output() {
  return 1
}

driver_build_command() {
  local prompt_file="$1" loop_context="$2" message

  if [[ ! -f "$prompt_file" ]]; then
    return 1
  fi

  message="$(cat -- "$prompt_file")"
  [[ -z "$loop_context" ]] || message="$loop_context

$message"

  CLAUDE_CMD_ARGS=(
    aider
    --yes-always
    --no-pretty
    --no-stream
    --no-check-update
    --message "$message"
  )
  if [[ -n "$AIDER_MODEL" ]]; then
    CLAUDE_CMD_ARGS+=(--model "$AIDER_MODEL")
  fi
  return 0
}

driver_min_version() {
  echo "0.86.0"
}

driver_check_available() {
  command -v aider &>/dev/null
}
