#!/usr/bin/env bash
# Driver for Kiro CLI (kiro-cli, 2.5).
#
# Not held against the program: it can't be had from a package registry. Written from what is documented of it.
#
# Sourced by a ralph loop. The functions write VALID_TOOL_PATTERNS, CLAUDE_CMD_ARGS and, where the host asks for it
# (PROMPT_ON_STDIN), CLAUDE_CMD_STDIN; no other global. bash 3.2 (macOS) is enough.
#
# It prints plain text, and no session's id: each turn begins a new session. KIRO_API_KEY logs it in without a browser.
# shellcheck disable=SC2034  # the loop reads the arrays

driver_name() {
    echo "kiro"
}

driver_display_name() {
    echo "Kiro CLI"
}

driver_cli_binary() {
    echo "kiro-cli"
}

driver_min_version() {
    echo "2.5.0"
}

driver_check_available() {
    command -v kiro-cli >/dev/null 2>&1
}

# Today's tools, then the names that older versions used.
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "read" "write" "shell" "aws" "grep" "glob" "web_search" "web_fetch" "report" "introspect" "subagent"
        "fs_read" "fs_write" "execute_bash" "use_aws"
    )
}

driver_supports_tool_allowlist() {
    return 1
}

driver_supports_sessions() {
    return 1
}

driver_supports_live_output() {
    return 1
}

driver_permission_denial_help() {
    local rc="${RALPHRC_FILE:-.ralphrc}" name="${DRIVER_DISPLAY_NAME:-Kiro CLI}"
    echo "$name was refused a tool, although the loop runs it with --trust-all-tools. To let it go on:"
    echo "  1. Look for rules that deny it: in the agent's file in .kiro/agents or ~/.kiro/agents, and hooks there."
    echo "  2. ALLOWED_TOOLS in $rc has no effect on $name."
    echo "  3. Then start the loop again."
}

# kiro-cli chat --no-interactive --trust-all-tools --wrap never "C\n\nP"    (or that on stdin)
# Sessions are not supported: the third argument is ignored.
driver_build_command() {
    local prompt_file="${1:-}" loop_context="${2:-}"
    local prompt
    CLAUDE_CMD_ARGS=()

    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    prompt=$(<"$prompt_file") || return 1
    if [[ -n "$loop_context" ]]; then prompt="$loop_context"$'\n\n'"$prompt"; fi

    CLAUDE_CMD_ARGS=("kiro-cli" "chat" "--no-interactive" "--trust-all-tools" "--wrap" "never")
    # A host that gives the program a stdin says so. 32,000 characters are less than 128 KiB in any encoding.
    if [[ "${PROMPT_ON_STDIN:-}" == "true" || ("${PROMPT_ON_STDIN:-}" == "auto" && ${#prompt} -gt 32000) ]]; then
        CLAUDE_CMD_STDIN="$prompt" # without a prompt as an argument, which would win
        return 0
    fi
    # Behind `--`, a prompt that begins with a dash ("- [ ] task") is no option.
    if [[ "$prompt" == -* ]]; then CLAUDE_CMD_ARGS+=("--"); fi
    CLAUDE_CMD_ARGS+=("$prompt")
}

driver_stream_filter() {
    echo "."
}
