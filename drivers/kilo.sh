#!/usr/bin/env bash
# Driver for Kilo (kilo, 7.7.7).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS, LIVE_CMD_ARGS and,
# where the host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough, and
# jq is not needed.
#
# Kilo is a fork of opencode: its command line and its events are the same.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "kilo"
}

driver_display_name() {
    echo "Kilo"
}

driver_cli_binary() {
    echo "kilo"
}

driver_min_version() {
    echo "7.7.7"
}

driver_check_available() {
    command -v kilo >/dev/null 2>&1
}

# Today's tools.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "background_process" "bash" "board_post" "board_read" "cancel_wakeup" "edit" "glob" "grep" "kilo_local_recall" "read"
        "schedule_wakeup" "skill" "task" "todowrite" "webfetch" "write"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Kilo}"
    echo "$name was refused a permission, although the loop runs it with --auto: what is denied stays so."
    echo "To let it go on:"
    echo "  1. Look for \"deny\" under \"permission\" in kilo.json here and in ~/.config/kilo."
    echo "  2. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  3. Then start the loop again."
}

# kilo run --auto --format json [--session S] [--] "C\n\nP"    (or that on stdin)
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

    CLAUDE_CMD_ARGS=("kilo" "run" "--auto" "--format" "json")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--session" "$session_id")
    fi
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding. Of a message
    # that is an argument kilo shows the model something else: in quotes, with a backslash before every quote of its own.
    # On stdin it arrives as it is.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" \
        || ("${PROMPT_ON_STDIN:-}" == "auto" && (${#prompt} -gt 32000 || "$prompt" == *'"'*)) ]]; then
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

# What the agent says, a "text" event per finished part.
driver_stream_filter() {
    printf '%s\n' 'objects | select(.type == "text") | .part | objects | .text | strings | . + "\n"'
}

# The session id, which every event has: {"type":"T","timestamp":N,"sessionID":"S",...}. Only a member of the event
# itself counts, which stands behind members with texts and numbers.
driver_extract_session_id_from_output() {
    local output_file="${1:-}" id
    local s='[[:space:]]*' skip event
    if [[ ! -f "$output_file" ]]; then return 1; fi
    skip="(\"[^\"\\]*\"$s:$s(\"([^\"\\]|\\\\.)*\"|[-+.0-9eE]+)$s,$s)*"
    event="^$s\\{$s$skip\"sessionID\"$s:$s\"([A-Za-z0-9][A-Za-z0-9_.:-]*)\".*"
    id=$(LC_ALL=C sed -nE "/$event/{s//\\4/p;q;}" <"$output_file") || return 1
    if [[ -z "$id" ]]; then return 1; fi
    echo "$id"
}
