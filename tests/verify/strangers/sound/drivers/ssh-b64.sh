#!/usr/bin/env bash
# The GPU machine has our own agent. One base64 word holds the whole request, so ssh has nothing to quote.

driver_name() { echo "ssh-b64"; }
driver_display_name() { echo "Agent on gpu-1"; }
driver_cli_binary() { echo "ssh"; }
driver_min_version() { echo "9.0.0"; }
driver_check_available() { command -v ssh >/dev/null 2>&1 && command -v python3 >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("shell" "files"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" request
    if [[ ! -f "$prompt_file" ]]; then
        return 1
    fi
    if [[ "$CLAUDE_USE_CONTINUE" != "true" ]]; then session_id=""; fi
    request="$(jq -cn --rawfile p "$prompt_file" --arg c "$loop_context" --arg s "$session_id" \
        '{prompt: $p, context: $c, session: $s} | with_entries(select(.value != ""))' | base64 | tr -d '\n')" || return 1
    CLAUDE_CMD_ARGS=(ssh gpu-1 "echo $request | base64 -d | agentd turn --stdin --events")
}

driver_stream_filter() {
    echo 'select(.event == "text" and .speaker == "agent").text'
}

driver_extract_session_id_from_output() {
    jq -Rr 'try fromjson catch empty | select(type == "object" and .event == "begin") | .session' "$1" 2>/dev/null | head -n 1
}
