#!/usr/bin/env bash
# Augment's auggie

# --- small helpers ------------------------------------------------------------------------------------------------
if ! declare -F auggie::warn >/dev/null; then
auggie::warn() { printf 'auggie driver: %s\n' "$*" >&2; }
auggie::has()  { command -v "$1" >/dev/null 2>&1; }
auggie::push() { # ARRAY_NAME WORD...: append without namerefs
    local __name=$1 __word
    shift
    for __word in "$@"; do
        eval "$__name+=(\"\$__word\")"
    done
}
fi

# --- contract -----------------------------------------------------------------------------------------------------
driver_name()            { echo auggie; }
driver_display_name()    { echo Auggie; }
driver_cli_binary()      { echo auggie; }
driver_min_version()     { echo 0.5.0; }
driver_check_available() { auggie::has auggie; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=()
    auggie::push VALID_TOOL_PATTERNS view str-replace-editor save-file remove-files launch-process \
        read-process web-search web-fetch codebase-retrieval
}

driver_build_command() {
    if [ $# -lt 3 ]; then
        auggie::warn "driver_build_command PROMPT_FILE CONTEXT SESSION"
        return 1
    fi
    if [ ! -f "$1" ]; then
        auggie::warn "prompt file not found: $1"
        return 1
    fi
    CLAUDE_CMD_ARGS=()
    auggie::push CLAUDE_CMD_ARGS auggie --print --quiet
    if [ "${CLAUDE_OUTPUT_FORMAT:-json}" = json ]; then
        auggie::push CLAUDE_CMD_ARGS --output-format json
    fi
    if [ "${CLAUDE_USE_CONTINUE:-}" = true ] && [ -n "$3" ]; then
        auggie::push CLAUDE_CMD_ARGS --resume "$3"
    fi
    if [ -n "$2" ]; then
        auggie::push CLAUDE_CMD_ARGS --instruction="$2"$'\n\n'"$(cat "$1")"
    else
        auggie::push CLAUDE_CMD_ARGS --instruction-file "$1"
    fi
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions()       { return 0; }
driver_supports_live_output()    { return 1; }

driver_permission_denial_help() {
    echo "toolPermissions in ~/.augment/settings.json decide; $DRIVER_DISPLAY_NAME does not read $RALPHRC_FILE."
}

driver_extract_session_id_from_output() {
    # {"type":"result","result":"...","is_error":false,"session_id":"..."}; python, since jq may be missing
    python3 -c '
import json, sys
last = ""
for line in open(sys.argv[1], "rb"):
    try:
        event = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        continue
    if isinstance(event, dict) and event.get("type") == "result":
        last = event.get("session_id") or last
print(last)' "$1" 2>/dev/null
}
