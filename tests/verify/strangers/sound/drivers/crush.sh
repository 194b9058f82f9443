#!/usr/bin/env bash
# Charm's crush. `crush run` takes the prompt on stdin, so the command is a small shell that opens the file.
# Plain text out, session ids from `crush session list`.

driver_name()         { echo "crush"; }
driver_display_name() { echo "Crush"; }
driver_cli_binary()   { echo "crush"; }

driver_valid_tools() {
    local -a read_tools write_tools
    read_tools=(view ls grep glob sourcegraph fetch)
    write_tools=(edit multiedit write bash download)
    VALID_TOOL_PATTERNS=("${read_tools[@]}" "${write_tools[@]}")
}

driver_build_command() {
    local prompt_file="${1:-}" loop_context="${2:-}" session_id="${3:-}"
    local script='ctx=$1 file=$2; shift 2; { [ -z "$ctx" ] || printf "%s\n\n" "$ctx"; cat -- "$file"; } | crush run --quiet "$@"'
    [ -f "$prompt_file" ] || return 1
    CLAUDE_CMD_ARGS=(bash -c "$script" crush-run "$loop_context" "$prompt_file")
    if [ "${CLAUDE_USE_CONTINUE:-}" = true ] && [ -n "$session_id" ]; then
        CLAUDE_CMD_ARGS+=(--session "$session_id")
    fi
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions()       { return 0; }
driver_supports_live_output()    { return 1; }

driver_permission_denial_help() {
    echo "crush run never asks. A refusal comes from permissions in crush.json; $RALPHRC_FILE is not read by crush."
}

driver_fallback_session_id() {
    crush session list --json </dev/null 2>/dev/null |
        jq -er 'if type == "array" and length == 1 then .[0].id // empty else empty end' 2>/dev/null
}

driver_min_version()     { echo "0.30.0"; }
driver_check_available() { command -v crush >/dev/null; }
