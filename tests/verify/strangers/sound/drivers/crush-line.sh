# shellcheck shell=bash
# crush, in as few lines as will do
driver_name() { echo crush-line; }; driver_display_name() { echo "Crush"; }; driver_cli_binary() { echo crush; }
driver_min_version() { echo 0.20.0; }; driver_check_available() { hash crush 2>/dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(bash edit multiedit view write glob grep ls fetch "mcp_*"); }
driver_supports_tool_allowlist() { return 1; }; driver_supports_sessions() { return 1; }; driver_supports_live_output() { return 1; }
driver_build_command() {
  CLAUDE_CMD_ARGS=(); [ -f "$1" ] || return 1
  local p; p=$(cat "$1"); [ -n "$2" ] && p="$2"$'\n\n'"$p"
  CLAUDE_CMD_ARGS=(crush run --quiet -- "$p")
}
