#!/usr/bin/env bash
# Driver for My Platform: a ralph loop sources this file, calls its functions, and runs the command that they build.
#
# To adapt it, hold driver_build_command against `my-platform --help`. `ralph-bridge explain driver_build_command` says
# what a hook has to do, `ralph-bridge verify` whether it does. Nothing newer than bash 3.2, which macOS has.
# shellcheck disable=SC2034  # the loop reads the arrays

# -- required -------------------------------------------------------------------------------------------

driver_name() {
    echo "my-platform" # the name of this file without .sh
}

driver_display_name() {
    echo "My Platform"
}

driver_cli_binary() {
    echo "my-platform"
}

# What a list of allowed tools may hold. It has an effect once driver_supports_tool_allowlist says so.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=("Read" "Write" "Edit" "Bash")
}

# $1 prompt file, $2 loop context (may be empty), $3 session to resume (empty: a new one)
driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"

    if [[ ! -f "$prompt_file" ]]; then
        echo "my-platform: there is no prompt file $prompt_file" >&2
        return 1
    fi

    # One element per argument. For a CLI that wants the text itself: "--prompt" "$(cat "$prompt_file")".
    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$prompt_file")
    CLAUDE_CMD_ARGS+=("--output-format" "${CLAUDE_OUTPUT_FORMAT:-json}")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        # The loop finds the id where the CLI prints "session_id" as JSON.
        CLAUDE_CMD_ARGS+=("--session" "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        CLAUDE_CMD_ARGS+=("--context" "$loop_context")
    fi
    return 0
}

# -- the loop has defaults for these ---------------------------------------------------------------------

driver_supports_tool_allowlist() {
    return 1
}

driver_permission_denial_help() {
    echo "$DRIVER_DISPLAY_NAME was not allowed to do what it wanted. Look at its permissions,"
    echo "and at the settings in $RALPHRC_FILE."
}

# -- about the program -----------------------------------------------------------------------------------

driver_min_version() {
    echo "1.0.0"
}

driver_check_available() {
    command -v my-platform >/dev/null 2>&1
}
