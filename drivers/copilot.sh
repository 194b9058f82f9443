#!/usr/bin/env bash
# Driver for GitHub Copilot CLI (copilot).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS and, where the
# host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough.
#
# The command prints plain text: no session ids, no events to show while it runs. Recent versions have both
# (--output-format json, --resume=ID); until the loops that read this output know them, it stays with text.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "copilot"
}

driver_display_name() {
    echo "GitHub Copilot CLI"
}

driver_cli_binary() {
    echo "copilot"
}

driver_min_version() {
    echo "0.0.418"
}

driver_check_available() {
    command -v copilot >/dev/null 2>&1
}

# Today's tools, then the permission kinds and names that older .ralphrc files use.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "bash" "view" "create" "edit" "grep" "glob" "task" "web_fetch" "report_intent" "task_complete"
        "shell" "shell(git *)" "shell(npm *)" "shell(*)" "read" "write" "url"
    )
}

driver_supports_tool_allowlist() {
    return 1
}

driver_supports_sessions() {
    return 1
}

driver_supports_live_output() {
    return 1
}

driver_permission_denial_help() {
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-GitHub Copilot CLI}"
    echo "$name was refused something, although the loop runs it with --yolo. To let it go on:"
    echo "  1. Run copilot once in this folder and accept that it is trusted; check that you are logged in."
    echo "  2. Ask your organisation's Copilot policy for the feature, if the message names a policy."
    echo "  3. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  4. Then start the loop again."
}

# copilot --autopilot --yolo --max-autopilot-continues 50 --no-ask-user -s -p "C\n\nP"    (or that on stdin)
# Sessions are not supported: the third argument is ignored.
driver_build_command() {
    local prompt_file="${1:-}" loop_context="${2:-}"
    local prompt
    CLAUDE_CMD_ARGS=()

    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    prompt=$(<"$prompt_file") || return 1
    if [[ -n "$loop_context" ]]; then prompt="$loop_context"$'\n\n'"$prompt"; fi

    CLAUDE_CMD_ARGS=("copilot" "--autopilot" "--yolo" "--max-autopilot-continues" "50" "--no-ask-user" "-s")
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" || ("${PROMPT_ON_STDIN:-}" == "auto" && ${#prompt} -gt 32000) ]]; then
        CLAUDE_CMD_STDIN="$prompt" # without -p, which would win
        return 0
    fi
    # A prompt that begins with a dash ("- [ ] task") would be taken for an option, also after `--`; joined
    # to its option it arrives (copilot 1.0.102).
    if [[ "$prompt" == -* ]]; then
        CLAUDE_CMD_ARGS+=("--prompt=$prompt")
    else
        CLAUDE_CMD_ARGS+=("-p" "$prompt")
    fi
}

driver_stream_filter() {
    echo "."
}
