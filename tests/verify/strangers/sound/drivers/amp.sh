#!/usr/bin/env bash
# Sourcegraph amp. New thread:  amp -x ...     Old one:  amp threads continue ID -x ...
# The prompt goes to stdin through a small sh, because amp -x takes the next word for the prompt.

driver_name() { echo "amp"; }
driver_display_name() { echo "Amp"; }
driver_cli_binary() { echo "amp"; }
driver_min_version() { echo "0.0.1"; }
driver_check_available() { command -v amp >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Bash" "Read" "edit_file" "create_file" "Grep" "glob" "finder" "oracle" "Task"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_permission_denial_help() { echo "amp.permissions in ~/.config/amp/settings.json; --dangerously-allow-all is already on."; }

driver_build_command() {
    local prompt_file=$1 loop_context=$2 session_id=$3
    if [[ ! -f "$prompt_file" ]]; then
        echo "ERROR: Prompt file not found: $prompt_file" >&2
        return 1
    fi
    local -a amp
    amp=(amp)
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
        amp+=(threads continue "$session_id")
    fi
    amp+=(-x --dangerously-allow-all)
    if [[ "${CLAUDE_OUTPUT_FORMAT:-json}" == "json" ]]; then
        amp+=(--stream-json)
    fi
    CLAUDE_CMD_ARGS=(env "LOOP_CONTEXT=$loop_context" sh -c '
        file=$1
        shift
        { test -z "$LOOP_CONTEXT" || printf "%s\n\n" "$LOOP_CONTEXT"; cat "$file"; } | "$@"
    ' amp "$prompt_file" "${amp[@]}")
}

driver_prepare_live_command() {
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    if [[ "${CLAUDE_OUTPUT_FORMAT:-json}" != "json" ]]; then
        LIVE_CMD_ARGS[${#LIVE_CMD_ARGS[@]}]=--stream-json
    fi
}

driver_stream_filter() {
    echo 'objects | select(.type == "assistant") | (.message.content // [])[] | objects
        | (select(.type == "text") | .text), (select(.type == "tool_use") | "[\(.name)]") | . + "\n"'
}

driver_extract_session_id_from_output() {
    # T-xxxxxxxx-xxxx-..., the same on every line
    perl -ne 'if (/^\{.*"session_id":"(T-[0-9a-f-]+)"\}?\s*$/ || /^\{"type":"system","subtype":"init",.*?"session_id":"(T-[0-9a-f-]+)"/) { print "$1\n"; exit }' "$1"
}
