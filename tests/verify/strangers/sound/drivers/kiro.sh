#!/usr/bin/env bash
## Kiro CLI (formerly Amazon Q). Text only. Sessions by id since 1.24.

: "${KIRO_CLI:=kiro-cli}"

driver_name()                    { echo kiro; }
driver_display_name()            { echo "Kiro CLI"; }
driver_cli_binary()              { echo "$KIRO_CLI"; }
driver_min_version()             { echo 1.24.0; }
driver_supports_live_output()    { return 1; }
driver_supports_sessions()       { return 0; }
driver_supports_tool_allowlist() { return 0; }
driver_check_available()         { command -v "$KIRO_CLI" > /dev/null 2>&1; }
driver_valid_tools()             { VALID_TOOL_PATTERNS=( fs_read fs_write execute_bash use_aws knowledge thinking 'mcp__*' ); }

driver_permission_denial_help() {
    echo "Add the tool to ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}; Kiro knows: fs_read, fs_write, execute_bash, use_aws."
}

# "a, b ,c" -> "a,b,c"
_kiro_trust_list() {
    local IFS=, item out=
    set -f
    for item in $1; do
        item=${item#"${item%%[! ]*}"}
        item=${item%"${item##*[! ]}"}
        [ -z "$item" ] || out=${out:+$out,}$item
    done
    set +f
    printf '%s' "$out"
}

driver_build_command() {
    local body trust
    if [ ! -f "${1:-}" ]; then
        echo "kiro: prompt file not found: ${1:-}" >&2
        return 1
    fi
    body=$(cat "$1") || return 1
    trust=$(_kiro_trust_list "${CLAUDE_ALLOWED_TOOLS:-}")

    CLAUDE_CMD_ARGS=("$KIRO_CLI" chat --no-interactive)
    if [ -n "$trust" ]; then
        CLAUDE_CMD_ARGS+=("--trust-tools=$trust")
    else
        CLAUDE_CMD_ARGS+=(--trust-all-tools)
    fi
    if [ "${CLAUDE_USE_CONTINUE:-}" = "true" ] && [ -n "${3:-}" ]; then
        CLAUDE_CMD_ARGS+=(--resume-id "$3")
    fi
    CLAUDE_CMD_ARGS+=(-- "${2:+$2

}$body")
}

# the last line on the terminal: "Session: 7f0c2a1e-... (resume with --resume-id ...)"
driver_extract_session_id_from_output() {
    awk '/^Session: [0-9a-f-]+ \(resume with --resume-id/ { id = $2 } END { if (id == "") exit 1; print id }' "$1"
}
