#!/usr/bin/env bash
# A codex driver as it was before and after its CLI made `resume` a command of its own.
# shellcheck disable=SC2034
driver_name() { echo "codex"; }
driver_display_name() { echo "OpenAI Codex"; }
driver_cli_binary() { echo "codex"; }
driver_min_version() { echo "0.1.0"; }
driver_check_available() { command -v codex >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("shell" "read_file" "write_file"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" prompt
    [[ -f "$prompt_file" ]] || { echo "no prompt: $prompt_file" >&2; return 1; }
    prompt="$(<"$prompt_file")"
    [[ -z "$loop_context" ]] || prompt="$loop_context"$'\n\n'"$prompt"
    CLAUDE_CMD_ARGS=("codex" "exec" "--json" "--sandbox" "workspace-write")
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("resume" "$session_id")
    fi
    CLAUDE_CMD_ARGS+=("$prompt")
}
driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
driver_stream_filter() { echo 'select(.type == "item.completed") | .item.text // empty'; }
