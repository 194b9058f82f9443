# Rovo Dev (acli). Plain sh as far as the contract lets one.

driver_name() { echo posix-rovo; }
driver_display_name() { echo "Rovo Dev"; }
driver_cli_binary() { echo acli; }
driver_min_version() { echo 1.3.0; }
driver_check_available() { command -v acli >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(bash open_files create_file find_and_replace_code grep); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }

driver_build_command() {
    # file context session
    if test ! -f "$1"; then
        echo "posix-rovo: $1: not found" >&2
        return 1
    fi
    if test "$CLAUDE_USE_CONTINUE" = true && test -n "$3"; then
        set -- "$1" "$2" --restore "$3"
    else
        set -- "$1" "$2"
    fi
    if test -n "$2"; then
        set -- "$@" "$2

$(cat "$1")"
    else
        set -- "$@" "$(cat "$1")"
    fi
    shift 2
    CLAUDE_CMD_ARGS=(acli rovodev run --yolo "$@")
}

driver_extract_session_id_from_output() {
    awk '/^Session ID: / { print $3; exit }' "$1"
}
