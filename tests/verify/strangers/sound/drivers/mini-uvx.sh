#!/usr/bin/env bash
# mini-swe-agent through uvx: text out, no sessions. The task travels in base64, so that no layer can spoil it.

driver_name() { echo "mini-uvx"; }
driver_display_name() { echo "mini-swe-agent"; }
driver_cli_binary() { echo "uvx"; }
driver_min_version() { echo "0.5.0"; }
driver_check_available() { command -v uvx >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("bash"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" encoded
    if [ ! -f "$prompt_file" ]; then
        return 1
    fi
    encoded="$({
        if [ -n "$loop_context" ]; then printf '%s\n\n' "$loop_context"; fi
        cat "$prompt_file"
    } | base64 | tr -d '\n')"
    CLAUDE_CMD_ARGS=(uvx --from mini-swe-agent mini --yolo --exit-immediately --task-base64 "$encoded")
}
