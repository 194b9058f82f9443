#!/usr/bin/env bash
# Driver for the Cursor CLI (cursor-agent, also installed as agent).
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS and LIVE_CMD_ARGS and
# no other global. bash 3.2 (macOS) is enough. cursor-agent-wrapper.sh belongs beside this file.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "cursor"
}

driver_display_name() {
    echo "Cursor CLI"
}

# Where the CLI is; the bare name when it is nowhere, so that the error names what is missing.
driver_cli_binary() {
    local name
    for name in "cursor-agent" "cursor-agent.cmd" "agent" "agent.cmd"; do
        if command -v "$name" 2>/dev/null; then return 0; fi
        if driver_running_on_windows && driver_find_windows_path_candidate "$name"; then return 0; fi
    done
    if driver_running_on_windows && driver_localappdata_cli_binary; then return 0; fi
    echo "cursor-agent"
}

driver_running_on_windows() {
    if [[ "${OS:-}" == "Windows_NT" ]]; then return 0; fi
    case "${OSTYPE:-}" in
        msys* | cygwin* | win32*) return 0 ;;
    esac
    return 1
}

# $1: a file name. Print its path if a folder of PATH holds it. bash finds a .cmd file only if it takes it
# for executable, and doesn't split a PATH that was handed over in the Windows form: C:\one;D:\two. In the
# POSIX form a drive's colon may still be in it (/usr/bin:C:\one): a lone letter before a slash is a drive.
driver_find_windows_path_candidate() {
    local name="${1:-}" rest="${PATH:-}" separator=":" folder
    if [[ "$rest" == *";"* ]]; then separator=";"; fi
    while [[ -n "$rest" ]]; do
        folder="${rest%%"$separator"*}"
        rest="${rest#"$folder"}"
        if [[ "$separator" == ":" && "$folder" == [A-Za-z] && "$rest" == :[\\/]* ]]; then
            rest="${rest#:}"
            folder="$folder:${rest%%:*}"
            rest="${rest#"${rest%%:*}"}"
        fi
        rest="${rest#"$separator"}"
        folder="${folder#\"}"
        folder="${folder%\"}"
        folder="${folder//\\//}"
        if [[ -n "$folder" && -f "${folder%/}/$name" ]]; then
            echo "${folder%/}/$name"
            return 0
        fi
    done
    return 1
}

# Print the path of the CLI below LOCALAPPDATA, where its installer for Windows puts it.
driver_localappdata_cli_binary() {
    local base="${LOCALAPPDATA:-}" name
    if [[ -z "$base" ]]; then return 1; fi
    if command -v cygpath >/dev/null 2>&1; then
        base=$(cygpath -u "$base" 2>/dev/null) || base="$LOCALAPPDATA"
    fi
    base="${base//\\//}"
    for name in "cursor-agent.cmd" "agent.cmd"; do
        if [[ -f "${base%/}/cursor-agent/$name" ]]; then
            echo "${base%/}/cursor-agent/$name"
            return 0
        fi
    done
    return 1
}

driver_min_version() {
    echo "0.1.0"
}

driver_check_available() {
    local binary
    binary=$(driver_cli_binary)
    [[ -f "$binary" ]] || command -v "$binary" >/dev/null 2>&1
}

# Today's tools as the permission rules and the events call them, then what older .ralphrc files name.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "Shell" "Shell(*)" "Read" "Read(*)" "Write" "Write(*)" "WebFetch" "WebFetch(*)" "Mcp(*)"
        "shell" "read" "write" "edit" "delete" "ls" "glob" "grep" "todo"
        "file_edit" "file_read" "file_write" "terminal" "search"
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
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Cursor CLI}"
    echo "$name was refused something, although the loop runs it with --force. To let it go on:"
    echo "  1. Run cursor-agent once in this folder and accept that it is trusted; check \`cursor-agent status\`."
    echo "  2. Deny rules win over --force: look into .cursor/cli.json and ~/.cursor/cli-config.json."
    echo "  3. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  4. Then start the loop again."
}

# [WRAPPER] cursor-agent -p --force --output-format json [--resume S] "C\n\nP"
# A .cmd file can't be started by everything that starts programs (timeout, for one), so it goes through
# the wrapper, which gets its path as the first argument.
driver_build_command() {
    local prompt_file="${1:-}" loop_context="${2:-}" session_id="${3:-}"
    local prompt binary wrapper newline=$'\n'
    CLAUDE_CMD_ARGS=()

    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    if driver_running_on_windows; then
        # Windows allows 32,767 characters for a whole command line (cmd.exe 8,191, and it stops at a line
        # break): the prompt stays in its file, the agent is told to read it.
        prompt=$(driver_bootstrap_prompt "$prompt_file")
        if [[ -n "$loop_context" ]]; then prompt="${loop_context//$newline/ } $prompt"; fi
    else
        prompt=$(<"$prompt_file") || return 1
        if [[ -n "$loop_context" ]]; then prompt="$loop_context"$'\n\n'"$prompt"; fi
    fi

    binary=$(driver_cli_binary)
    if [[ "$binary" == *.[cC][mM][dD] ]]; then
        wrapper="${BASH_SOURCE[0]}"
        if [[ "$wrapper" == */* ]]; then wrapper="${wrapper%/*}"; else wrapper="."; fi
        if [[ "$wrapper" != /* && "$wrapper" != [A-Za-z]:* ]]; then wrapper="$PWD/$wrapper"; fi
        CLAUDE_CMD_ARGS+=("$wrapper/cursor-agent-wrapper.sh")
    fi
    CLAUDE_CMD_ARGS+=("$binary" "-p" "--force" "--output-format" "json")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--resume" "$session_id")
    fi
    CLAUDE_CMD_ARGS+=("$prompt")
}

# $1: path of the prompt file. One line that says what to read, for a command line that is too short for it.
driver_bootstrap_prompt() {
    local ralph_dir="${RALPH_DIR:-.ralph}"
    ralph_dir="${ralph_dir//\\//}"
    echo "You are one iteration of an autonomous coding loop. Read ${1//\\//} first and follow it exactly." \
        "Then read, as far as they exist: $ralph_dir/PROJECT_CONTEXT.md, $ralph_dir/SPECS_INDEX.md," \
        "$ralph_dir/@fix_plan.md, $ralph_dir/@AGENT.md and what they refer to in $ralph_dir/specs/." \
        "Do the next open task of $ralph_dir/@fix_plan.md, tick it off there when it is done," \
        "and end your answer with the RALPH_STATUS block that the prompt file asks for."
}

# stream-json instead of json, only as the value of --output-format: a session id or a text that reads like
# it stays as it is.
driver_prepare_live_command() {
    local IFS=$' \t\n'
    local arg option=""
    LIVE_CMD_ARGS=()
    for arg in ${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"}; do
        if [[ "$option" == "--output-format" && "$arg" == "json" ]]; then arg="stream-json"; fi
        LIVE_CMD_ARGS+=("$arg")
        if [[ -n "$option" ]]; then option=""; continue; fi
        case "$arg" in
            --output-format | --resume | --append-system-prompt) option="$arg" ;;
        esac
    done
}

# What the agent says, and the name of each tool when its call starts. Today a call is an object with one key
# that tells the tool ({"readToolCall":{…}}, or {"function":{"name":…}}); older events had a name. "result"
# repeats the text and is left out. \u26a1 is the lightning sign, spelled so that no locale can damage it.
driver_stream_filter() {
    printf '%s\n' 'objects
| if .type == "assistant" then
    (.message | objects | .content
     | if type == "array" then .[] | objects | select(.type == "text") | .text else . end
     | strings | . + "\n")
  elif .type == "tool_call" and ((.subtype // "started") == "started") then
    ([(.tool_call | objects | .name, (.function | objects | .name),
       (keys[] | select(endswith("ToolCall")) | rtrimstr("ToolCall"))), .name]
     | map(strings) | (.[0] // "tool") | "\n\u26a1 [" + . + "]\n")
  else empty end'
}
