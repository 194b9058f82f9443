#!/usr/bin/env bash
# OpenHands headless. Reads its task from the environment.

driver_name() { echo "openhands"; }
driver_display_name() { echo "OpenHands"; }
driver_cli_binary() { echo "uvx"; }
driver_min_version() { echo "1.0.0"; }
driver_check_available() { command -v uvx >/dev/null; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_supports_tool_allowlist() { return 1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("execute_bash" "str_replace_editor" "browser" "think" "finish"); }
driver_permission_denial_help() {
    cat << EOT
OpenHands runs with --always-approve.
If it still stops: $DRIVER_DISPLAY_NAME needs a workspace that it may write to.
EOT
}

driver_build_command() {
    local prompt_file=$1 loop_context=$2
    local task
    test -f "$prompt_file" || { echo "openhands: $prompt_file?" >&2; return 1; }
    task=$(cat "$prompt_file")
    if test -n "$loop_context"; then
        task=$(printf '%s\n\n%s' "$loop_context" "$task")
    fi
    CLAUDE_CMD_ARGS=(
        env "OPENHANDS_SUPPRESS_BANNER=1" "OPENHANDS_TASK=$task"
        uvx --python 3.12 --from "openhands==${OPENHANDS_VERSION:-1.7}" openhands --headless --always-approve
    )
}
