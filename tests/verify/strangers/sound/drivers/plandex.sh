#!/usr/bin/env bash
# plandex (v2). No sessions of its own that we could resume: a plan is tied to the folder.

PLANDEX_LIMIT=${PLANDEX_LIMIT:-45m}

driver_name() { echo "plandex"; }
driver_display_name() { echo "Plandex"; }
driver_cli_binary() { echo "plandex"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Exec"); }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_supports_tool_allowlist() { return 1; }
driver_min_version() { echo "2.1.0"; }
driver_check_available() { command -v plandex >/dev/null 2>&1; }
driver_permission_denial_help() { echo "plandex: set auto-exec with 'plandex set-auto full' (see ${RALPHRC_FILE:-.ralphrc})"; }

driver_build_command() {
    local f="${1:?prompt file}" ctx="${2:-}"
    CLAUDE_CMD_ARGS=(timeout --kill-after=10s --signal=INT "$PLANDEX_LIMIT" plandex tell --full --skip-menu)
    test -f "$f" || return 1
    CLAUDE_CMD_ARGS+=(--file "$f")
    if [[ $ctx ]]; then
        # plandex concatenates the message and the file
        CLAUDE_CMD_ARGS+=(-- "$ctx")
    fi
}
