#!/usr/bin/env bash
# Runs the CLI through env and a shell that opens the prompt for it.
driver_name() { echo "shelled"; }
driver_display_name() { echo "Shelled"; }
driver_cli_binary() { echo "shelled-agent"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write"); }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_stream_filter() { echo 'select(.type == "message")? | .body'; }
driver_build_command() {
    local prompt="$1" context="${2-}" id="${3-}"
    [[ -f "$prompt" ]] || { echo "missing: $prompt" >&2; return 1; }
    CLAUDE_CMD_ARGS=(bash -c 'f=$1; shift; exec shelled-agent "$@" <"$f"' shelled "$prompt")
    if [[ -n "$id" && "${CLAUDE_USE_CONTINUE:-false}" == true ]]; then CLAUDE_CMD_ARGS+=(resume "$id"); fi
    if [[ -n "$context" ]]; then CLAUDE_CMD_ARGS+=(--note "$context"); fi
    return 0
}
driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" --stream); }
