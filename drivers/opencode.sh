#!/usr/bin/env bash
# Driver for OpenCode (opencode).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS, LIVE_CMD_ARGS and,
# where the host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough, and
# jq is not needed.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "opencode"
}

driver_display_name() {
    echo "OpenCode"
}

driver_cli_binary() {
    echo "opencode"
}

driver_min_version() {
    echo "0.1.0"
}

driver_check_available() {
    command -v opencode >/dev/null 2>&1
}

# Today's tools, then the names that older versions and older .ralphrc files use.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "bash" "edit" "glob" "grep" "read" "skill" "task" "todowrite" "webfetch" "write"
        "list" "lsp" "multiedit" "patch" "question" "todoread" "websearch"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-OpenCode}"
    echo "$name was refused a permission: in a loop nobody can answer, so what is set to \"ask\" is rejected."
    echo "To let it go on:"
    echo "  1. Set \"allow\" for it under \"permission\" in opencode.json, or for the agent named build."
    echo "  2. Check that OPENCODE_PERMISSION in the environment does not say otherwise."
    echo "  3. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  4. Then start the loop again."
}

# opencode run --agent build --format json [--continue --session S] [--] "C\n\nP"    (or that on stdin)
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

    CLAUDE_CMD_ARGS=("opencode" "run" "--agent" "build" "--format" "json")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--continue" "--session" "$session_id")
    fi
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding. Of a
    # message that is an argument opencode 1.18 shows the model something else: in quotes, with a backslash before
    # every quote of its own. On stdin it arrives as it is.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" \
        || ("${PROMPT_ON_STDIN:-}" == "auto" && (${#prompt} -gt 32000 || "$prompt" == *'"'*)) ]]; then
        CLAUDE_CMD_STDIN="$prompt"
        return 0
    fi
    # "- [ ] task" and "---" front matter would be taken for options (opencode 1.18: rc 1).
    if [[ "$prompt" == -* ]]; then CLAUDE_CMD_ARGS+=("--"); fi
    CLAUDE_CMD_ARGS+=("$prompt")
}

# The output is JSONL already.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})
}

# What the agent says: today a "text" event per finished part; older versions sent whole messages, their
# content a string or a list of parts.
driver_stream_filter() {
    printf '%s\n' 'objects
| if .type == "text" then .part | objects | .text
  elif .type == "message.updated" or .type == "message.completed" then
    (.message // .) | objects | select((.role // "assistant") == "assistant") | (.parts // .content)
    | if type == "array" then .[] | objects | select(.type == "text") | .text else . end
  else empty end
| strings | . + "\n"'
}

# The session id that the events carry: .sessionID today, .session.id in older versions. Only members of the
# event itself count, not what a tool's input or the text may contain; the expressions step over the scalars
# before it. Lines that are no event are skipped. All events of a run carry one id: if there are two, the
# answer would be a guess, so there is none.
driver_extract_session_id_from_output() {
    local output_file="${1:-}" id ids found=""
    local s='[[:space:]]*' string='"([^"\\]|\\.)*"' scalar skip value
    if [[ ! -f "$output_file" ]]; then return 1; fi
    scalar="($string|[-+.0-9eE]+|true|false|null)"
    skip="($string$s:$s$scalar$s,$s)*"
    value="$s:$s\"([A-Za-z0-9][A-Za-z0-9_.:-]*)\""

    # A line that is `{` alone begins an event that is printed over several lines, up to a `}` in the first
    # column: those are collected and read as one (`t scan` forgets the substitutions that joined them).
    ids=$(LC_ALL=C sed -nE \
        -e ":event" -e "t scan" -e ":scan" \
        -e "s/^$s\\{$s$skip\"sessionID\"$value.*/\\5/p;t" \
        -e "s/^$s\\{$s$skip\"session\"$s:$s\\{$s$skip\"id\"$value.*/\\9/p;t" \
        -e "s/^$s\\{.*,$s\"sessionID\"$value$s\\}$s\$/\\1/p;t" \
        -e "/^$s\\{$s\$/,/^\\}/{" -e 'H;/^\}/!d;s/.*//;x;s/\n/ /g;b event' -e '}' \
        <"$output_file") || return 1
    while IFS= read -r id; do
        if [[ -z "$id" || "$id" == "$found" ]]; then continue; fi
        if [[ -n "$found" ]]; then return 1; fi
        found="$id"
    done <<<"$ids"
    if [[ -z "$found" ]]; then return 1; fi
    echo "$found"
}

# The only session of this project, when opencode lists exactly one. Any of several could be somebody
# else's, so then there is no answer. stdin is closed because opencode waits for it.
driver_fallback_session_id() {
    local list id found=""
    local s='[[:space:]]*' member
    member="[{,]$s\"id\"$s:$s\"([A-Za-z0-9][A-Za-z0-9_.:-]*)\""
    list=$(opencode session list --format json </dev/null 2>/dev/null) || return 1
    while [[ "$list" =~ $member ]]; do
        id="${BASH_REMATCH[1]}"
        list="${list#*"${BASH_REMATCH[0]}"}"
        if [[ -n "$found" && "$id" != "$found" ]]; then return 1; fi
        found="$id"
    done
    if [[ -z "$found" ]]; then return 1; fi
    echo "$found"
}
