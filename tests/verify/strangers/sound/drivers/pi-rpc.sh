#!/usr/bin/env bash
# pi. The prompt is handed over with @file, which pi reads itself.

set_pi_args() {
    CLAUDE_CMD_ARGS=(pi --mode json --approve)
}

driver_name() { echo "pi-rpc"; }
driver_display_name() { echo "Pi"; }
driver_cli_binary() { echo "pi"; }
driver_min_version() { echo "0.30.0"; }
driver_check_available() { command -v pi >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("read" "bash" "edit" "write" "grep" "find" "ls"); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" tools="" one
    [[ -f "$prompt_file" ]] || return 1
    set_pi_args
    while IFS= read -r one; do
        one="$(sed 's/^ *//; s/ *$//' <<<"$one")"
        if [[ -n "$one" ]]; then tools="${tools:+$tools,}$one"; fi
    done <<<"${CLAUDE_ALLOWED_TOOLS//,/$'\n'}"
    [[ -z "$tools" ]] || CLAUDE_CMD_ARGS+=(--tools "$tools")
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=(--session "$session_id")
    fi
    [[ -z "$loop_context" ]] || CLAUDE_CMD_ARGS+=(--append-system-prompt "$loop_context")
    CLAUDE_CMD_ARGS+=("@$prompt_file")
}

driver_stream_filter() {
    echo 'select(.type == "message_end") | .message | select(.role == "assistant") | .content[] | select(.type == "text") | .text + "\n"'
}

driver_extract_session_id_from_output() {
    grep -m 1 '^{"type":"session",' "$1" | jq -r '.id // empty' 2>/dev/null
}
