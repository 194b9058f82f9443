#!/usr/bin/env bash
# Codex in a long-lived podman container named by CODEX_BOX (podman run -d --name codex-box ... sleep infinity).

readonly_box() { printf '%s' "${CODEX_BOX:-codex-box}"; }

driver_name() { echo "codex-podman"; }
driver_display_name() { echo "Codex (podman)"; }
driver_cli_binary() { echo "podman"; }
driver_min_version() { echo "0.100.0"; }
driver_check_available() { command -v podman >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("exec_command" "apply_patch" "view_image" "web_search" "update_plan"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "Codex's own sandbox is off in the container, so this is the container's doing:"
    echo "  podman exec $(readonly_box) id; ls -ld of the mounted project"
}

driver_build_command() {
    local prompt_file="${1:-}" loop_context="${2:-}" session_id="${3:-}" prompt='' line
    if [ ! -f "$prompt_file" ]; then
        printf 'codex-podman: %s not found\n' "'$prompt_file'" >&2
        return 1
    fi
    while IFS= read -r line || [ -n "$line" ]; do
        prompt+="$line"$'\n'
    done <"$prompt_file"
    [ -z "$loop_context" ] || prompt="## Loop context
$loop_context

## Task
$prompt"

    CLAUDE_CMD_ARGS=(podman exec -i -w "$PWD" "$(readonly_box)" codex exec --json
        --dangerously-bypass-approvals-and-sandbox)
    [ -z "${CODEX_MODEL:-}" ] || CLAUDE_CMD_ARGS+=(-m "$CODEX_MODEL")
    if [ "${CLAUDE_USE_CONTINUE:-}" = true ] && [ -n "$session_id" ]; then
        CLAUDE_CMD_ARGS+=(resume "$session_id")
    fi
    CLAUDE_CMD_ARGS+=(-- "$prompt")
}

driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }

driver_stream_filter() {
    cat <<-'FILTER'
	select(.type | IN("item.completed", "item.started"))
	| . as {$type, item: $i}
	| if $type == "item.completed" and $i.type == "agent_message" then $i.text + "\n"
	  elif $type == "item.started" and $i.type == "command_execution" then "$ " + $i.command + "\n"
	  else empty end
	FILTER
}

driver_extract_session_id_from_output() {
    local line
    while IFS= read -r line; do
        if [[ $line =~ ^\{\"type\":\"thread\.started\",\"thread_id\":\"([0-9a-fA-F-]+)\" ]]; then
            printf '%s\n' "${BASH_REMATCH[1]}"
            return 0
        fi
    done <"$1"
    return 1
}
