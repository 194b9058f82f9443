#!/usr/bin/env sh
# shellcheck shell=bash
# Atlassian Rovo Dev: acli rovodev run "message"; sourced by bash, so arrays are fine.

driver_name() { echo rovodev; }
driver_display_name() { echo 'Rovo Dev'; }
driver_cli_binary() { echo acli; }
driver_min_version() { echo 1.3.0; }
driver_check_available() { acli rovodev --help >/dev/null 2>&1 </dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(bash open_files create_file delete_file find_and_replace_code grep); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_permission_denial_help() { echo 'toolPermissions in ~/.rovodev/config.yml; run once: acli rovodev auth login'; }
driver_build_command() {
    if test ! -f "${1:-}"; then echo "rovodev: no prompt file" 1>&2; return 1; fi
    CLAUDE_CMD_ARGS=(acli rovodev run --yolo)
    if test -n "${ROVODEV_CONFIG:-}"; then CLAUDE_CMD_ARGS+=(--config-file "$ROVODEV_CONFIG"); fi
    CLAUDE_CMD_ARGS+=("${2:+Context of the loop: $2

}Task:
$(cat "$1")")
}
