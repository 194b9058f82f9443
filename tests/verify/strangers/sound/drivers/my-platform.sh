#!/usr/bin/env bash
# ralph/drivers/my-platform.sh
# Driver for My Platform CLI
#
# Sourced by ralph_loop.sh via load_platform_driver().
# PLATFORM_DRIVER must be set to "my-platform" in .ralphrc.
# ---------------------------------------------------------------------------
# Required hooks (5) -- omitting any of these breaks the loop
# ---------------------------------------------------------------------------
# Short lowercase identifier used to gate platform-specific logic.
driver_name() {
  echo "my-platform"
}
# Human-readable name for log messages and tmux pane titles.
driver_display_name() {
  echo "My Platform"
}
# CLI executable name or resolved path.
driver_cli_binary() {
  echo "my-platform"
}
# Populate VALID_TOOL_PATTERNS with recognized tool name patterns.
# Used by validate_allowed_tools() to check allowlist entries.
driver_valid_tools() {
  VALID_TOOL_PATTERNS=(
    "Read"
    "Write"
    "Edit"
    "Bash"
  )
}
# Build the complete CLI command array.
# $1 = prompt_file Path to .ralph/PROMPT.md
# $2 = loop_context Context string for session continuity (may be empty)
# $3 = session_id Session ID for resume (empty = new session)
driver_build_command() {
  local prompt_file="$1"
  local loop_context="$2"
  local session_id="$3"
  if [[ ! -f "$prompt_file" ]]; then
    return 1
  fi
  CLAUDE_CMD_ARGS=(
    "my-platform"
    "--prompt" "$prompt_file"
    "--output-format" "${CLAUDE_OUTPUT_FORMAT:-json}"
  )
  # Append session resume flag if continuing a session
  if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
    CLAUDE_CMD_ARGS+=("--session" "$session_id")
  fi
  # Append context if provided
  if [[ -n "$loop_context" ]]; then
    CLAUDE_CMD_ARGS+=("--context" "$loop_context")
  fi
  return 0
}
# ---------------------------------------------------------------------------
# Optional overrides (2) -- loop provides default stubs
# ---------------------------------------------------------------------------
# Return 0 if the platform supports --allowedTools filtering, 1 otherwise.
driver_supports_tool_allowlist() {
  return 1
}
# Print troubleshooting guidance on permission denial.
driver_permission_denial_help() {
  echo "Permission denied. Check that $DRIVER_DISPLAY_NAME has the required permissions."
  echo "See $RALPHRC_FILE for configuration options."
}
# ---------------------------------------------------------------------------
# Metadata hooks (2) -- used by bmalph doctor, not called by ralph_loop.sh
# ---------------------------------------------------------------------------
# Minimum required CLI version (semver).
driver_min_version() {
  echo "1.0.0"
}
# Return 0 if the CLI binary is installed and reachable, 1 otherwise.
driver_check_available() {
  command -v my-platform &>/dev/null
}
