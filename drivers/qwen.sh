#!/usr/bin/env bash
# Driver for Qwen Code (qwen, 0.15.10 or newer).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS, LIVE_CMD_ARGS and,
# where the host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough, hence
# ${a[@]+"${a[@]}"} where an array may be empty.
#
# The output is always events: an array of them in one line at the end with json (what was said so far is lost when the
# turn is ended early), one a line with stream-json. text has no session ids.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "qwen"
}

driver_display_name() {
    echo "Qwen Code"
}

driver_cli_binary() {
    echo "qwen"
}

driver_min_version() {
    echo "0.15.10"
}

driver_check_available() {
    command -v qwen >/dev/null 2>&1
}

# Today's tools, then the names that older versions used.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "agent" "edit" "get_goal" "glob" "grep_search" "list_agents" "notebook_edit" "read_file"
        "run_shell_command" "skill" "tool_call" "tool_search" "update_goal" "write_file"
        "cron_create" "cron_delete" "cron_list" "enter_worktree" "exit_worktree" "loop_wakeup" "monitor"
        "read_mcp_resource" "record_artifact" "report_findings" "send_message" "task_stop" "web_fetch" "zoom_image"
        "run_shell_command(*)" "run_shell_command(git *)" "run_shell_command(npm *)"
        "ask_user_question" "exit_plan_mode" "list_directory" "todo_write"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Qwen Code}"
    echo "$name was refused a tool, although the loop runs it with --approval-mode yolo. To let it go on:"
    echo "  1. Look for rules that deny it: \"permissions\" and \"tools\" in .qwen/settings.json here and in ~/.qwen."
    echo "  2. A file that it has not read in this session it may not overwrite: that is no matter of permissions."
    echo "  3. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  4. Then start the loop again."
}

# qwen --output-format json --approval-mode yolo [--resume S] --prompt "C\n\nP"    (or that on stdin)
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

    CLAUDE_CMD_ARGS=("qwen" "--output-format" "json" "--approval-mode" "yolo")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--resume" "$session_id")
    fi
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" || ("${PROMPT_ON_STDIN:-}" == "auto" && ${#prompt} -gt 32000) ]]; then
        CLAUDE_CMD_STDIN="$prompt"
        return 0
    fi
    # A prompt that begins with a dash ("- [ ] task") would be taken for an option, and after `--` it is lost;
    # joined to its option it arrives.
    if [[ "$prompt" == -* ]]; then
        CLAUDE_CMD_ARGS+=("--prompt=$prompt")
    else
        CLAUDE_CMD_ARGS+=("--prompt" "$prompt")
    fi
}

# stream-json instead of json, and partial messages. Only what follows the option --output-format is replaced: a prompt
# or session id that reads like an option is skipped with the option that it belongs to.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    local arg option=""
    LIVE_CMD_ARGS=()
    for arg in ${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"}; do
        if [[ -n "$option" ]]; then
            if [[ "$option" == "--output-format" ]]; then
                LIVE_CMD_ARGS+=("stream-json")
                arg="--include-partial-messages"
            fi
            option=""
        else
            case "$arg" in
                --output-format | --approval-mode | --resume | --prompt) option="$arg" ;;
            esac
        fi
        LIVE_CMD_ARGS+=("$arg")
    done
}

# Text as it arrives, and the name of each tool that is used. The "assistant" events repeat what the
# partial messages have already said, so they are left out. \u26a1 is the lightning sign, spelled so that
# no locale can damage it.
driver_stream_filter() {
    printf '%s\n' 'objects | select(.type == "stream_event" and .parent_tool_use_id == null) | .event | objects
| if .type == "content_block_delta" then
    (.delta | objects | select(.type == "text_delta") | .text | strings)
  elif .type == "content_block_start" then
    (.content_block | objects | select(.type == "tool_use") | .name | strings | "\n\u26a1 [" + . + "]\n")
  elif .type == "content_block_stop" then "\n"
  else empty end'
}
