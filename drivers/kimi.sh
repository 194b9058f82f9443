#!/usr/bin/env bash
# Driver for Kimi Code (kimi, 2.1.0).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS and LIVE_CMD_ARGS; no other
# global. bash 3.2 (macOS) is enough, and jq is not needed.
#
# kimi takes its prompt as the value of an option and in no other way, so that 128 KiB are the limit (on Linux; a host
# that can tell refuses more before it starts kimi). Its tools run unasked then. While the provider fails it tries ten
# times, for minutes: give the loop a timeout.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "kimi"
}

driver_display_name() {
    echo "Kimi Code"
}

driver_cli_binary() {
    echo "kimi"
}

driver_min_version() {
    echo "2.1.0"
}

driver_check_available() {
    command -v kimi >/dev/null 2>&1
}

# Today's tools.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "Agent" "AgentSwarm" "AskUserQuestion" "Bash" "CreateGoal" "CronCreate" "CronDelete" "CronList" "Edit"
        "EnterPlanMode" "ExitPlanMode" "FetchURL" "GetGoal" "Glob" "Grep" "Read" "SetGoalBudget" "Skill" "TaskList" "TaskOutput"
        "TaskStop" "TodoList" "UpdateGoal" "WaitFor" "Write"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Kimi Code}"
    echo "$name was refused a tool, although it asks nobody when it is given a prompt. To let it go on:"
    echo "  1. Look for rules that deny it: \"permission\" in ~/.kimi-code/config.toml, and hooks there."
    echo "  2. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  3. Then start the loop again."
}

# kimi --output-format stream-json [--session S] --prompt "C\n\nP"
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

    CLAUDE_CMD_ARGS=("kimi" "--output-format" "stream-json")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--session" "$session_id")
    fi
    # Joined to its option, a prompt that begins with a dash ("- [ ] task") is none.
    if [[ "$prompt" == -* ]]; then
        CLAUDE_CMD_ARGS+=("--prompt=$prompt")
    else
        CLAUDE_CMD_ARGS+=("--prompt" "$prompt")
    fi
}

# The output is JSONL already.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})
}

# What the agent says, and the name of each tool that it uses. \u26a1 is the lightning sign, spelled so that no locale
# can damage it.
driver_stream_filter() {
    printf '%s\n' 'objects | select(.role == "assistant")
| (.content | strings | select(. != "") | . + "\n"),
  (.tool_calls | arrays | .[] | objects | .function | objects | .name | strings | "\u26a1 [" + . + "]\n")'
}
