# A driver as it was written before gemini asked whether a folder is trusted.
driver_name() { echo gemini; }
driver_display_name() { echo "Gemini CLI"; }
driver_cli_binary() { echo gemini; }
driver_min_version() { echo 0.1.0; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(read_file write_file replace run_shell_command); }
driver_supports_sessions() { return 1; }
driver_build_command() {
    [[ -f "$1" ]] || return 1
    CLAUDE_CMD_ARGS=(gemini --output-format json --yolo)
    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=(-p "$2

$(<"$1")"); else CLAUDE_CMD_ARGS+=(-p "$(<"$1")"); fi
}
