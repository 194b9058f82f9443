#!/usr/bin/env bash
# codex inside of the dev container that is already up
: "${DEVBOX:=devbox}"

driver_name() { echo codex-devbox; }
driver_display_name() { echo "Codex (devbox)"; }
driver_cli_binary() { echo docker; }
driver_min_version() { echo 20.10.0; }
driver_check_available() { command -v docker >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("exec_command" "apply_patch" "view_image" "update_plan" "web_search"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt
    prompt=$(cat "$1" 2>/dev/null) || return 1
    CLAUDE_CMD_ARGS=(docker exec --interactive --workdir /workspace "$DEVBOX")
    CLAUDE_CMD_ARGS+=(codex exec --json --skip-git-repo-check --sandbox danger-full-access)
    case "${CLAUDE_USE_CONTINUE}:${3:+id}" in
        true:id) CLAUDE_CMD_ARGS+=(resume "$3") ;;
    esac
    case "$2" in
        "") ;;
        *) prompt="$2

$prompt" ;;
    esac
    CLAUDE_CMD_ARGS+=(-- "$prompt")
}

driver_prepare_live_command() {
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
}

driver_stream_filter() {
    echo 'select(.type == "item.completed" and .item.type == "agent_message") | .item.text + "\n"'
}

driver_extract_session_id_from_output() {
    local line
    while IFS= read -r line || [[ -n "$line" ]]; do
        case "$line" in
            '{"type":"thread.started"'*)
                line="${line#*\"thread_id\":\"}"
                echo "${line%%\"*}"
                return 0
                ;;
        esac
    done <"$1"
    return 0
}
