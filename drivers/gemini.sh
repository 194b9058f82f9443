#!/usr/bin/env bash
# Driver for Gemini CLI (gemini, 0.61).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS, LIVE_CMD_ARGS and,
# where the host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough.
#
# The output is stream-json. Of the forms that gemini has, it alone has the words in front of the tool calls, the
# errors (those of json go to stderr, behind log lines, with nothing on stdout), and a line that tells how the turn
# ended: exit status 0 alone doesn't, gemini returns it after an empty answer and after TERM, too. Long prompts get
# json: stream-json repeats the prompt, and what a pipe doesn't take at once of that is lost, with all that follows.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "gemini"
}

driver_display_name() {
    echo "Gemini CLI"
}

driver_cli_binary() {
    echo "gemini"
}

driver_min_version() {
    echo "0.61.0"
}

driver_check_available() {
    command -v gemini >/dev/null 2>&1
}

# Today's tools, then the names that older versions used.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "activate_skill" "enter_plan_mode" "glob" "google_web_search" "grep_search" "invoke_agent"
        "list_background_processes" "list_directory" "read_background_output" "read_file" "replace"
        "run_shell_command" "update_topic" "web_fetch" "write_file"
        "run_shell_command(*)" "run_shell_command(git *)" "run_shell_command(npm *)"
        "read_many_files" "save_memory" "search_file_content" "write_todos"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Gemini CLI}"
    echo "$name was refused a tool, although the loop runs it with --approval-mode yolo. To let it go on:"
    echo "  1. Look for rules that deny it: in ~/.gemini/policies, and \"tools\" in .gemini/settings.json here and"
    echo "     in ~/.gemini. An administrator may have turned yolo off (security.disableYoloMode)."
    echo "  2. Its file tools stay inside the project, and its shell runs no command with \$(...). Commits need user.name"
    echo "     and user.email in the repository's own settings: ~/.gitconfig is closed to it."
    echo "  3. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  4. Then start the loop again."
}

# gemini --output-format stream-json --approval-mode yolo --skip-trust [--resume S] --prompt "C\n\nP"
# (or that on stdin)
# Without --skip-trust a folder that nobody has trusted ends the turn (status 55). A session that gemini has lost, which
# happens when others are started in the project, ends it with status 42: the host begins a new one.
driver_build_command() {
    local prompt_file="${1:-}" loop_context="${2:-}" session_id="${3:-}"
    local prompt format="stream-json"
    CLAUDE_CMD_ARGS=()

    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    prompt=$(<"$prompt_file") || return 1
    if [[ -n "$loop_context" ]]; then prompt="$loop_context"$'\n\n'"$prompt"; fi

    # 16,000 characters are less than the 64 KiB of a pipe in any encoding.
    if ((${#prompt} > 16000)); then format="json"; fi
    CLAUDE_CMD_ARGS=("gemini" "--output-format" "$format" "--approval-mode" "yolo" "--skip-trust")
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

# The output is JSONL already.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})
}

# What the agent says comes in pieces, and nothing tells where a message ends but what follows it. \u26a1 is the
# lightning sign, spelled so that no locale can damage it.
driver_stream_filter() {
    printf '%s\n' 'objects
| if .type == "message" and .role == "assistant" then (.content | strings)
  elif .type == "tool_use" then (.tool_name | strings | "\n\u26a1 [" + . + "]\n")
  elif .type == "result" and (.stats | type) == "object" then "\n"
  else empty end'
}
