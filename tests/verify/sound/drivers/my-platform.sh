#!/usr/bin/env bash
# The skeleton of the contract, written anew: the five required hooks, the two overrides, the two for preflight.

driver_name() { echo "my-platform"; }

driver_display_name() { echo "My Platform"; }

driver_cli_binary() { echo "my-platform"; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "Read"
        "Write"
        "Edit"
        "Bash"
    )
}

driver_build_command() {
    local prompt_file="$1"
    local loop_context="$2"
    local session_id="$3"

    if [[ ! -f "$prompt_file" ]]; then
        return 1
    fi

    CLAUDE_CMD_ARGS=(
        "my-platform"
        "--prompt" "$prompt_file"
        "--output-format" "${CLAUDE_OUTPUT_FORMAT:-json}"
    )
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--session" "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        CLAUDE_CMD_ARGS+=("--context" "$loop_context")
    fi
    return 0
}

driver_supports_tool_allowlist() {
    return 1
}

driver_permission_denial_help() {
    echo "$DRIVER_DISPLAY_NAME was refused something; give it the permission."
    echo "$RALPHRC_FILE holds the settings."
}

driver_min_version() { echo "1.0.0"; }

driver_check_available() {
    command -v my-platform &>/dev/null
}
