#!/bin/bash
# kiro-cli with a list of trusted tools. Text only; it prints the id of the conversation at the end.

driver_name() { echo "kiro-trust"; }
driver_display_name() { echo "Kiro CLI"; }
driver_cli_binary() { echo "kiro-cli"; }
driver_min_version() { echo "1.20.0"; }
driver_check_available() { command -v kiro-cli >/dev/null 2>&1; }
driver_valid_tools() {
    VALID_TOOL_PATTERNS=("read" "write" "shell" "aws" "report" "@*")
}
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }

driver_permission_denial_help() {
    cat <<EOF
Kiro was not allowed to use a tool.
  - add it to ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}; names are read, write, shell, aws
  - restart the loop
EOF
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local prompt trusted

    test -f "$prompt_file" || { echo "kiro-trust: $prompt_file is missing" >&2; return 1; }
    prompt=$(cat "$prompt_file") || return 1
    test -z "$loop_context" || prompt=$(printf '%s\n\n%s' "$loop_context" "$prompt")

    CLAUDE_CMD_ARGS=("kiro-cli" "chat" "--no-interactive" "--wrap" "never")
    trusted=$(printf '%s' "${CLAUDE_ALLOWED_TOOLS:-}" | sed -e 's/[[:space:]]*,[[:space:]]*/,/g' -e 's/^[[:space:],]*//' -e 's/[[:space:],]*$//')
    if [ -n "$trusted" ]; then
        CLAUDE_CMD_ARGS+=("--trust-tools=$trusted")
    else
        CLAUDE_CMD_ARGS+=("--trust-all-tools")
    fi
    if [ "$CLAUDE_USE_CONTINUE" = true ] && [ "$session_id" ]; then
        CLAUDE_CMD_ARGS+=("--resume-id" "$session_id")
    fi
    CLAUDE_CMD_ARGS+=("--" "$prompt")
}

driver_extract_session_id_from_output() {
    sed -n 's/^Conversation id: \([0-9A-Za-z-]\{1,\}\)$/\1/p' "$1" 2>/dev/null | tail -n 1
}
