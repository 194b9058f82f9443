#!/usr/bin/env bash
# Auggie. The prompt by its path; the context is a second instruction.

driver_name() { echo "auggie-file"; }
driver_display_name() { echo "Auggie"; }
driver_cli_binary() { echo "auggie"; }
driver_min_version() { echo "0.5.0"; }
driver_check_available() { [ -n "$(command -v auggie)" ]; }
driver_valid_tools() { VALID_TOOL_PATTERNS=('view' 'save-file' 'str-replace-editor' 'launch-process' 'web-fetch'); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }

driver_build_command() {
    local prompt_file="${1-}" loop_context="${2-}" session_id="${3-}"

    [ -f "$prompt_file" ] || {
        printf 'auggie-file: %s: no such file\n' "$prompt_file" >&2
        return 1
    }

    CLAUDE_CMD_ARGS=(auggie --print --quiet --output-format json)
    if [ "${CLAUDE_USE_CONTINUE-}" = "true" ] && [ -n "$session_id" ]; then
        CLAUDE_CMD_ARGS+=(--resume "$session_id")
    fi
    if [ -n "$loop_context" ]; then
        CLAUDE_CMD_ARGS+=(--rules-text "$loop_context")
    fi
    CLAUDE_CMD_ARGS+=(--instruction-file "$prompt_file")
}
