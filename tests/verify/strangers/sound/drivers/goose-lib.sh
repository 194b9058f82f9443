#!/usr/bin/env bash
# Driver for goose (Block). Needs lib/ralph-common.sh beside it.

# shellcheck source=lib/ralph-common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/ralph-common.sh"

driver_name() { echo "goose-lib"; }
driver_display_name() { echo "Goose"; }
driver_cli_binary() { echo "${GOOSE_BIN:-goose}"; }
driver_min_version() { echo "1.9.0"; }
driver_check_available() { command -v "$(driver_cli_binary)" >/dev/null 2>&1; }
driver_valid_tools() {
    VALID_TOOL_PATTERNS=("developer__shell" "developer__text_editor" "developer__*" "computercontroller__*" "memory__*")
}
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_permission_denial_help() {
    echo "Set GOOSE_MODE=auto, or edit permission.yaml in ~/.config/goose."
    echo "The loop's own settings are in $RALPHRC_FILE."
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    [[ -f "$prompt_file" ]] || rc_die "no such prompt: $prompt_file" || return 1

    CLAUDE_CMD_ARGS=("$(driver_cli_binary)" run --no-profile --with-builtin developer)
    rc_opt --output-format "${CLAUDE_OUTPUT_FORMAT:-json}"
    if rc_resuming "$session_id"; then
        CLAUDE_CMD_ARGS+=(--resume)
        rc_opt --session-id "$session_id"
    fi
    rc_opt --system "$loop_context"
    rc_opt --instructions "$prompt_file"
}

driver_prepare_live_command() {
    local k
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    for k in "${!LIVE_CMD_ARGS[@]}"; do
        case "${LIVE_CMD_ARGS[k]}" in
            --output-format) LIVE_CMD_ARGS[k + 1]="stream-json"; return 0 ;;
            --session-id | --system) return 0 ;;
        esac
    done
}

driver_stream_filter() {
    sed 's/^ *//' <<'FILTER'
        objects | select(.type == "message") | .message
        | select(.role == "assistant") | .content[]?
        | if .type == "text" then .text
          elif .type == "toolRequest" then "\n[" + (.toolCall.value.name // "tool") + "]\n"
          else empty end
FILTER
}

driver_extract_session_id_from_output() {
    local id
    id="$(grep -m1 -oE '^session id: [A-Za-z0-9_-]+' "$1" | cut -d' ' -f3)"
    [[ -n "$id" ]] && echo "$id"
}
