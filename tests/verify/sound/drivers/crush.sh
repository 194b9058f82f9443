#!/usr/bin/env bash
# crush, minimal: only what the loop can't do without.
driver_name() { echo "crush"; }
driver_display_name() { echo "Charm Crush"; }
driver_cli_binary() { echo "crush"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("view" "edit" "bash"); }
driver_build_command() {
  if [[ ! -f "$1" ]]; then
    echo "missing $1" >&2
    return 1
  fi
  CLAUDE_CMD_ARGS=(crush run --quiet)
  if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$3" ]]; then
    CLAUDE_CMD_ARGS+=(--session "$3")
  fi
  if [[ -n "$2" ]]; then
    CLAUDE_CMD_ARGS+=("$2

$(cat "$1")")
  else
    CLAUDE_CMD_ARGS+=("$(cat "$1")")
  fi
}
