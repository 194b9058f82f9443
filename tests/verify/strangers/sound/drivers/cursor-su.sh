#!/usr/bin/env bash
# cursor-agent as another user of this machine

CURSOR_SU_USER="${CURSOR_SU_USER:-cursor}"

driver_name() { echo "cursor-su"; }
driver_display_name() { echo "Cursor (own user)"; }
driver_cli_binary() { echo "su"; }
driver_min_version() { echo "2.38.0"; }
driver_check_available() { command -v su >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Shell" "Grep"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

# q WORD...: appends them, quoted for sh, to $line
_cursor_su_q() {
    local word quote="'\\''"
    for word in "$@"; do
        line+=" '${word//\'/$quote}'"
    done
}

_cursor_su_line() {
    local format="$1" prompt="$2" session_id="$3" line="exec cursor-agent"
    _cursor_su_q --print --force --output-format "$format"
    if [[ -n "$session_id" ]]; then
        _cursor_su_q --resume "$session_id"
    fi
    _cursor_su_q "$prompt"
    printf '%s' "$line"
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" prompt
    if [[ ! -f "$prompt_file" ]]; then
        return 1
    fi
    prompt="${loop_context}${loop_context:+

}$(cat "$prompt_file")"
    [[ "$CLAUDE_USE_CONTINUE" == "true" ]] || session_id=
    CLAUDE_CMD_ARGS=(
        su "$CURSOR_SU_USER" --shell /bin/sh --command
        "$(_cursor_su_line "${CLAUDE_OUTPUT_FORMAT:-json}" "$prompt" "$session_id")"
    )
}

driver_prepare_live_command() {
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    LIVE_CMD_ARGS[5]="${LIVE_CMD_ARGS[5]/"'--output-format' '${CLAUDE_OUTPUT_FORMAT:-json}'"/"'--output-format' 'stream-json'"}"
}

driver_stream_filter() {
    echo 'select(.type == "assistant") | .message.content | map(select(.type == "text") | .text) | add // empty'
}
