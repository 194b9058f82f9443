#!/usr/bin/env bash
# mini-swe-agent from PyPI, by uvx

driver_name() { echo "mini-yolo"; }
driver_display_name() { echo "mini-swe-agent"; }
driver_cli_binary() { echo "uvx"; }
driver_min_version() { echo "1.14.0"; }
driver_check_available() { command -v uvx >/dev/null 2>&1; }

driver_valid_tools() {
    local -a names
    names[0]="bash"
    VALID_TOOL_PATTERNS=("${names[@]}")
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }

driver_permission_denial_help() {
    echo "mini-swe-agent runs with --yolo and asks nothing."
}

driver_build_command() {
    local file=$1 context=$2 task from="mini-swe-agent"
    if [[ ! -f $file ]]; then
        echo "Error: $file: No such file" >&2
        return 1
    fi
    task=$(<"$file")
    printf -v task '%s%s' "${context:+$context$'\n---\n'}" "$task"
    [[ -z ${MINI_VERSION:-} ]] || from+="==$MINI_VERSION"

    CLAUDE_CMD_ARGS=(
        env MSWEA_SILENT_STARTUP=1
        uvx --from "$from"
            mini --yolo --exit-immediately
                 --model "${MINI_MODEL:-anthropic/claude-sonnet}"
                 --output "${TMPDIR:-/tmp}/mini-trajectory.json"
                 --task="$task"
    )
}
