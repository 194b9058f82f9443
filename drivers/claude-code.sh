#!/usr/bin/env bash
# Driver for Claude Code (claude, 2.0.76 or newer).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS, LIVE_CMD_ARGS and,
# where the host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough, hence
# ${a[@]+"${a[@]}"} where an array may be empty: under `set -u` a plain "${a[@]}" of an empty array is an error
# before bash 4.4. Functions that expand an array set their own IFS first.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "claude-code"
}

driver_display_name() {
    echo "Claude Code"
}

driver_cli_binary() {
    echo "claude"
}

driver_min_version() {
    echo "2.0.76"
}

driver_check_available() {
    command -v claude >/dev/null 2>&1
}

# Today's tools, then the ones that only older .ralphrc files name. claude accepts unknown names silently,
# so a list that is too generous costs nothing, while a missing name stops a loop that used to run.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "Agent" "AskUserQuestion" "Bash" "CronCreate" "CronDelete" "CronList" "Edit" "EnterPlanMode"
        "EnterWorktree" "ExitPlanMode" "ExitWorktree" "Glob" "Grep" "LSP" "ListAgents"
        "ListMcpResourcesTool" "Monitor" "NotebookEdit" "PowerShell" "Read" "ReadMcpResourceDirTool"
        "ReadMcpResourceTool" "RemoteTrigger" "ReportFindings" "ScheduleWakeup" "SendMessage" "Skill" "Task"
        "TaskCreate" "TaskGet" "TaskList" "TaskOutput" "TaskStop" "TaskUpdate" "TodoWrite" "ToolSearch"
        "WebFetch" "WebSearch" "Workflow" "Write"
        "Bash(*)" "Bash(git *)" "Bash(npm *)" "Bash(bats *)" "Bash(python *)" "Bash(node *)"
        "Edit(*)" "Read(*)" "Skill(*)" "WebFetch(*)" "Write(*)" "mcp__*"
        "BashOutput" "KillShell" "MultiEdit" "NotebookRead" "TodoRead"
    )
}

driver_supports_tool_allowlist() {
    return 0
}

driver_supports_sessions() {
    return 0
}

driver_supports_live_output() {
    return 0
}

driver_permission_denial_help() {
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Claude Code}"
    echo "$name was refused a tool that it asked for. To let it go on:"
    echo "  1. Add the tool to ALLOWED_TOOLS in $rc, for example ALLOWED_TOOLS=\"Write,Read,Edit,Bash(git *)\""
    echo "     (\"Bash\" alone permits every command)."
    echo "  2. Or set CLAUDE_PERMISSION_MODE=\"bypassPermissions\" in $rc: nobody can answer a question in a loop."
    echo "     As root, claude accepts that mode only with IS_SANDBOX=1 in the environment."
    echo "  3. Deny rules in .claude/settings.json win over both."
    echo "  4. Reset the session, so that the refusal is not remembered, and start the loop again."
}

# claude [--output-format json] --permission-mode M [--allowedTools T...] [--resume S]
#        [--append-system-prompt C] -p [--] P    (or P on stdin; C, too, when S is resumed)
driver_build_command() {
    local IFS=$' \t\n'
    local prompt_file="${1:-}" loop_context="${2:-}" session_id="${3:-}"
    local prompt behind="" entry="" rest="${CLAUDE_ALLOWED_TOOLS:-}" opened closed
    local -a tools
    CLAUDE_CMD_ARGS=()
    tools=()

    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    prompt=$(<"$prompt_file") || return 1

    # The list is split on commas, but a comma within parentheses is part of the rule, as it is for claude
    # itself: `Bash(git add, git commit)` is one entry. An opening one that is never closed protects nothing.
    while [[ -n "$rest" ]]; do
        entry+="${rest%%,*}"
        if [[ "$rest" == *,* ]]; then rest="${rest#*,}"; else rest=""; fi
        opened="${entry//[^(]/}"
        closed="${entry//[^)]/}"
        if ((${#opened} > ${#closed})) && [[ "$rest" == *")"* ]]; then
            entry+=","
            continue
        fi
        entry="${entry#"${entry%%[![:space:]]*}"}"
        entry="${entry%"${entry##*[![:space:]]}"}"
        if [[ -n "$entry" ]]; then tools+=("$entry"); fi
        entry=""
    done

    CLAUDE_CMD_ARGS=("claude")
    if [[ "${CLAUDE_OUTPUT_FORMAT:-}" == "json" ]]; then
        CLAUDE_CMD_ARGS+=("--output-format" "json")
    fi
    CLAUDE_CMD_ARGS+=("--permission-mode" "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    if ((${#tools[@]} > 0)); then
        CLAUDE_CMD_ARGS+=("--allowedTools" "${tools[@]}")
    fi
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--resume" "$session_id")
        # A session keeps the system prompt of its first run (claude 2.1.330): what is appended to it in a later
        # one is dropped, unseen. What is on stdin claude reads behind the prompt.
        if [[ -n "${PROMPT_ON_STDIN:-}" && -n "$loop_context" ]]; then behind="$loop_context"; fi
    fi
    if [[ -n "$loop_context" ]]; then
        CLAUDE_CMD_ARGS+=("--append-system-prompt" "$loop_context")
    fi
    CLAUDE_CMD_ARGS+=("-p")
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" || ("${PROMPT_ON_STDIN:-}" == "auto" && ${#prompt} -gt 32000) ]]; then
        CLAUDE_CMD_STDIN="$prompt"
        if [[ -n "$behind" ]]; then CLAUDE_CMD_STDIN+=$'\n\n'"$behind"; fi
        return 0
    fi
    if [[ -n "$behind" ]]; then CLAUDE_CMD_STDIN="$behind"; fi
    # "- [ ] task" and "---" front matter would be taken for options (claude 2.1: rc 1).
    if [[ "$prompt" == -* ]]; then CLAUDE_CMD_ARGS+=("--"); fi
    CLAUDE_CMD_ARGS+=("$prompt")
}

# stream-json instead of json, or of text (the two flags are refused without it), and partial messages.
# Only what follows the option --output-format is replaced: a context or session id that reads like an
# option is skipped with the option that it belongs to. Nothing may be added behind a `--`.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    local arg option="" ended=""
    local -a extra
    extra=("--output-format" "stream-json" "--verbose" "--include-partial-messages")
    LIVE_CMD_ARGS=()
    for arg in ${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"}; do
        if [[ -n "$option" ]]; then
            if [[ "$option" == "--output-format" ]]; then arg="stream-json"; fi
            option=""
        elif [[ -z "$ended" ]]; then
            case "$arg" in
                --output-format)
                    option="$arg"
                    extra=("--verbose" "--include-partial-messages")
                    ;;
                --permission-mode | --resume | --append-system-prompt) option="$arg" ;;
                --)
                    LIVE_CMD_ARGS+=("${extra[@]}")
                    ended=yes
                    ;;
            esac
        fi
        LIVE_CMD_ARGS+=("$arg")
    done
    if [[ -z "$ended" && ${#LIVE_CMD_ARGS[@]} -gt 0 ]]; then LIVE_CMD_ARGS+=("${extra[@]}"); fi
}

# Text as it arrives, and the name of each tool that is used. The "assistant" events repeat what the
# partial messages have already said, so they are left out. \u26a1 is the lightning sign, spelled so that
# no locale can damage it.
driver_stream_filter() {
    printf '%s\n' 'objects | select(.type == "stream_event") | .event | objects
| if .type == "content_block_delta" then
    (.delta | objects | select(.type == "text_delta") | .text | strings)
  elif .type == "content_block_start" then
    (.content_block | objects | select(.type == "tool_use") | .name | strings | "\n\u26a1 [" + . + "]\n")
  elif .type == "content_block_stop" then "\n"
  else empty end'
}
