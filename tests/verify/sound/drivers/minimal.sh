driver_name() { echo minimal; }
driver_display_name() { echo Minimal; }
driver_cli_binary() { echo minimal; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("*"); }
driver_build_command() {
    [ -f "$1" ] || return 1
    CLAUDE_CMD_ARGS=(minimal run --yes "${2:+$2

}$(cat "$1")")
}
