#!/usr/bin/env bash
# Claude Code as the service user, with a clean environment. sudoers: NOPASSWD for claude.

driver_name() { echo "claude-svc"; }
driver_display_name() { echo "Claude Code (service user)"; }
driver_cli_binary() { echo "sudo"; }
driver_min_version() { echo "1.9.0"; }
driver_check_available() { sudo -n -u claude-svc true 2>/dev/null; }
driver_valid_tools() {
    VALID_TOOL_PATTERNS=("Read" "Write" "Edit" "Glob" "Grep" "Bash" "Bash(*)" "WebFetch" "Task")
}
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "Either sudo or $DRIVER_DISPLAY_NAME said no."
    echo "sudo -l -U \"\$USER\" shows what sudo allows; ALLOWED_TOOLS in ${RALPHRC_FILE} is for the rest."
}

# prints each entry of a comma list, without blanks around it, and a NUL
_claude_svc_entries() {
    python3 -c '
import sys
for entry in sys.argv[1].split(","):
    if entry.strip():
        sys.stdout.write(entry.strip() + "\0")
' "$1"
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" entry
    local -a tools=()
    [[ -f "$prompt_file" ]] || return 1
    while IFS= read -r -d '' entry; do
        tools+=("$entry")
    done < <(_claude_svc_entries "${CLAUDE_ALLOWED_TOOLS:-}")

    CLAUDE_CMD_ARGS=(
        sudo -n -u claude-svc
        env -i HOME=/home/claude-svc PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 IS_SANDBOX=1
        claude
        --permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}"
        --output-format "${CLAUDE_OUTPUT_FORMAT:-json}"
    )
    if ((${#tools[@]})); then
        CLAUDE_CMD_ARGS+=(--allowedTools "${tools[@]}")
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" ]] && [[ -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=(--resume "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        CLAUDE_CMD_ARGS+=(--append-system-prompt "$loop_context")
    fi
    CLAUDE_CMD_ARGS+=(--print "$(cat "$prompt_file")")
}

driver_prepare_live_command() {
    local i n=${#CLAUDE_CMD_ARGS[@]}
    LIVE_CMD_ARGS=()
    for ((i = 0; i < n; i++)); do
        if [[ "${CLAUDE_CMD_ARGS[i]}" == --output-format ]]; then
            LIVE_CMD_ARGS+=(--output-format stream-json --verbose)
            ((i++)) || true
        else
            LIVE_CMD_ARGS+=("${CLAUDE_CMD_ARGS[i]}")
        fi
    done
}

driver_stream_filter() {
    echo 'select(.type=="assistant") | .message.content[]? | select(.type=="text") | .text, "\n"'
}
