#!/usr/bin/env bash
# Driver for Droid (droid, 0.215.0).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS, LIVE_CMD_ARGS and,
# where the host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough, and
# jq is not needed.
#
# --auto high lets it do what a loop needs (write, commit, push) and keeps its list of commands that it never runs. A
# command that is above its level ends the whole turn, with status 1.
#
# To resume a session droid asks its maker's server first. Where it doesn't get through, it ends with status 1 without a
# word on either output; a session that nobody knows is begun anew, under that id.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "droid"
}

driver_display_name() {
    echo "Droid"
}

driver_cli_binary() {
    echo "droid"
}

driver_min_version() {
    echo "0.215.0"
}

driver_check_available() {
    command -v droid >/dev/null 2>&1
}

# Today's tools.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "ApplyPatch" "Create" "Edit" "Execute" "ExitSpecMode" "FetchUrl" "GenerateImage" "Glob" "Grep" "LS" "Loop" "Read" "Script"
        "Skill" "Task" "TaskOutput" "TaskStop" "TodoWrite" "ToolSearch" "WaitForScript" "WebSearch"
    )
}

driver_supports_tool_allowlist() {
    return 1
}

driver_supports_sessions() {
    return 0
}

driver_supports_live_output() {
    return 0
}

driver_permission_denial_help() {
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Droid}"
    echo "$name was refused a tool, although the loop runs it with --auto high. To let it go on:"
    echo "  1. Look for commands that it never runs: \"commandDenylist\" in .factory/settings.json here and in ~/.factory."
    echo "     An administrator of its organization may have set a lower level for everybody."
    echo "  2. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  3. Then start the loop again."
}

# droid exec --output-format stream-json --auto high [--session-id S] [--] "C\n\nP"    (or that on stdin)
driver_build_command() {
    local prompt_file="${1:-}" loop_context="${2:-}" session_id="${3:-}"
    local prompt
    CLAUDE_CMD_ARGS=()

    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    prompt=$(<"$prompt_file") || return 1
    if [[ -n "$loop_context" ]]; then prompt="$loop_context"$'\n\n'"$prompt"; fi

    CLAUDE_CMD_ARGS=("droid" "exec" "--output-format" "stream-json" "--auto" "high")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--session-id" "$session_id")
    fi
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" || ("${PROMPT_ON_STDIN:-}" == "auto" && ${#prompt} -gt 32000) ]]; then
        CLAUDE_CMD_STDIN="$prompt"
        return 0
    fi
    # "- [ ] task" and "---" front matter would be taken for options.
    if [[ "$prompt" == -* ]]; then CLAUDE_CMD_ARGS+=("--"); fi
    CLAUDE_CMD_ARGS+=("$prompt")
}

# The output is JSONL already.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})
}

# What the agent says, and the name of each tool that it uses. \u26a1 is the lightning sign, spelled so that no locale
# can damage it.
driver_stream_filter() {
    printf '%s\n' 'objects
| if .type == "message" and .role == "assistant" then (.text | strings | . + "\n")
  elif .type == "tool_call" then (.toolName | strings | "\u26a1 [" + . + "]\n")
  else empty end'
}
