#!/usr/bin/env bash
# Driver for Antigravity CLI (agy, 1.1.8).
#
# Not held against the program: it can't be had from a package registry. Written from what is documented of it.
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS and LIVE_CMD_ARGS; no other
# global. bash 3.2 (macOS) is enough, and jq is not needed.
#
# agy takes its prompt as the value of an option, so that 128 KiB are the limit (on Linux). Before 1.1.8 it had one
# format, and printed nothing, or hung, where its output was no terminal. It waits for input if its stdin is open.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "antigravity"
}

driver_display_name() {
    echo "Antigravity CLI"
}

driver_cli_binary() {
    echo "agy"
}

driver_min_version() {
    echo "1.1.8"
}

driver_check_available() {
    command -v agy >/dev/null 2>&1
}

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "run_command" "command_status" "view_file" "view_file_outline" "list_dir" "find_by_name" "grep_search"
        "codebase_search" "write_to_file" "replace_file_content" "multi_replace_file_content" "search_web"
        "read_url_content" "invoke_subagent"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Antigravity CLI}"
    echo "$name was refused a tool, although the loop runs it with --dangerously-skip-permissions. To let it go on:"
    echo "  1. Look for rules that deny it: \"permissions\" in ~/.gemini/antigravity-cli/settings.json, and hooks in"
    echo "     .agents/hooks.json."
    echo "  2. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  3. Then start the loop again."
}

# agy --output-format stream-json --dangerously-skip-permissions --print-timeout 24h [--conversation S] --print "C\n\nP"
# Its own time limit for a turn is 5 minutes by default; the loop has one of its own.
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

    CLAUDE_CMD_ARGS=("agy" "--output-format" "stream-json" "--dangerously-skip-permissions" "--print-timeout" "24h")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--conversation" "$session_id")
    fi
    # Joined to its option, a prompt that begins with a dash ("- [ ] task") is none.
    if [[ "$prompt" == -* ]]; then
        CLAUDE_CMD_ARGS+=("--print=$prompt")
    else
        CLAUDE_CMD_ARGS+=("--print" "$prompt")
    fi
}

# The output is JSONL already.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})
}

# What the agent says comes in pieces. \u26a1 is the lightning sign, spelled so that no locale can damage it.
driver_stream_filter() {
    printf '%s\n' 'objects
| if .event == "step_update" then .step_update | objects
    | if .step_type == "agent_response" then .text_delta | strings
      elif .step_type == "tool" and .state == "ACTIVE" then .tool_name | strings | "\n\u26a1 [" + . + "]\n"
      else empty end
  elif .event == "result" and (.result | type) == "object" then "\n"
  else empty end'
}
