#!/usr/bin/env bash
# Driver for pi (pi, 0.87.1).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS, LIVE_CMD_ARGS and,
# where the host asks for it (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough, and
# jq is not needed.
#
# With --mode json pi ends with status 0 also when its provider refuses the key: what the turn came to stands in its
# events alone. pi asks nobody before it runs a tool.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "pi"
}

driver_display_name() {
    echo "pi"
}

driver_cli_binary() {
    echo "pi"
}

driver_min_version() {
    echo "0.87.1"
}

driver_check_available() {
    command -v pi >/dev/null 2>&1
}

# Today's tools; the last three are off unless they are asked for.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "bash" "edit" "read" "write"
        "find" "grep" "ls"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-pi}"
    echo "$name was refused a tool, although it asks nobody. To let it go on:"
    echo "  1. Look for extensions that deny it: in .pi/ here and in ~/.pi/agent."
    echo "  2. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  3. Then start the loop again."
}

# pi --mode json -p [--session S] [--] "C\n\nP"    (or that on stdin)
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

    CLAUDE_CMD_ARGS=("pi" "--mode" "json" "-p")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--session" "$session_id")
    fi
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding. An argument
    # that begins with @ is the name of a file.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" \
        || ("${PROMPT_ON_STDIN:-}" == "auto" && (${#prompt} -gt 32000 || "$prompt" == @*)) ]]; then
        CLAUDE_CMD_STDIN="$prompt"
        return 0
    fi
    case "$prompt" in
        -*) CLAUDE_CMD_ARGS+=("--") ;; # "- [ ] task" would be taken for options
        @*) prompt=$'\n'"$prompt" ;;
    esac
    CLAUDE_CMD_ARGS+=("$prompt")
}

# The output is JSONL already.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})
}

# Text as it arrives, and the name of each tool that is used. \u26a1 is the lightning sign, spelled so that no locale
# can damage it.
driver_stream_filter() {
    printf '%s\n' 'objects
| if .type == "message_update" then
    (.assistantMessageEvent | objects
     | if .type == "text_delta" then (.delta | strings) elif .type == "text_end" then "\n" else empty end)
  elif .type == "tool_execution_start" then (.toolName | strings | "\u26a1 [" + . + "]\n")
  else empty end'
}

# The session id, which only the first event has: {"type":"session","version":3,"id":"S",...}.
driver_extract_session_id_from_output() {
    local output_file="${1:-}" id
    local s='[[:space:]]*' event
    if [[ ! -f "$output_file" ]]; then return 1; fi
    event="^$s\\{$s\"type\"$s:$s\"session\"$s,$s(\"version\"$s:${s}[0-9]+$s,$s)?\"id\"$s:$s\"([A-Za-z0-9][A-Za-z0-9_.:-]*)\".*"
    id=$(LC_ALL=C sed -nE "/$event/{s//\\2/p;q;}" <"$output_file") || return 1
    if [[ -z "$id" ]]; then return 1; fi
    echo "$id"
}
