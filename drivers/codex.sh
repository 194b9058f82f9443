#!/usr/bin/env bash
# Driver for OpenAI Codex (codex).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS, LIVE_CMD_ARGS and,
# where the host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "codex"
}

driver_display_name() {
    echo "OpenAI Codex"
}

driver_cli_binary() {
    echo "codex"
}

driver_min_version() {
    echo "0.1.0"
}

driver_check_available() {
    command -v codex >/dev/null 2>&1
}

# Today's tools, then the names that older versions and older .ralphrc files use.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "exec_command" "write_stdin" "apply_patch" "view_image" "update_plan" "web_search"
        "shell" "read_file" "write_file" "edit_file" "list_directory" "search_files"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-OpenAI Codex}"
    echo "$name was refused something by its sandbox. To let it go on:"
    echo "  1. The loop runs it with --sandbox workspace-write: files outside the project, the network and"
    echo "     .git are closed to it, so it can't commit. Let the loop or yourself make the commits."
    echo "  2. Open what is needed under [sandbox_workspace_write] in ~/.codex/config.toml, for example"
    echo "     network_access = true or writable_roots."
    echo "  3. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  4. Then start the loop again."
}

# codex exec --json --sandbox workspace-write [resume S] [--] "C\n\nP"    (or - and that on stdin)
# An id that is no UUID is taken for a thread's name, and codex silently starts a new thread under it; the
# id itself is passed on as it is.
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

    CLAUDE_CMD_ARGS=("codex" "exec" "--json" "--sandbox" "workspace-write")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("resume" "$session_id")
    fi
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" || ("${PROMPT_ON_STDIN:-}" == "auto" && ${#prompt} -gt 32000) ]]; then
        CLAUDE_CMD_ARGS+=("-")
        CLAUDE_CMD_STDIN="$prompt"
        return 0
    fi
    # "- [ ] task" and "---" front matter would be taken for options (codex 0.169: rc 2).
    if [[ "$prompt" == -* ]]; then CLAUDE_CMD_ARGS+=("--"); fi
    CLAUDE_CMD_ARGS+=("$prompt")
}

# The output is JSONL already.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})
}

# What the agent says. Before the thread/item events there was {"msg":{"type":"agent_message","message":…}},
# and for a time items had item_type instead of type.
driver_stream_filter() {
    printf '%s\n' 'objects
| if .type == "item.completed" then
    (.item | objects | select((.type // .item_type) | . == "agent_message" or . == "assistant_message") | .text)
  else (.msg | objects | select(.type == "agent_message") | .message) end
| strings | . + "\n"'
}
