#!/usr/bin/env bash
# Atlassian Rovo Dev, as the unprivileged user "agent".

ROVO_USER=${ROVO_USER:-agent}

driver_name() { echo "rovodev-sudo"; }
driver_display_name() { echo "Rovo Dev"; }
driver_cli_binary() { echo "acli"; }
driver_min_version() { echo "1.3.0"; }
driver_check_available() { command -v acli >/dev/null 2>&1 && command -v sudo >/dev/null 2>&1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }
driver_supports_tool_allowlist() { return 1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(open_files create_file delete_file move_file expand_code_chunks grep bash); }
driver_permission_denial_help() {
    echo "See toolPermissions in ~$ROVO_USER/.rovodev/config.yml"
}

driver_build_command() {
    local prompt_file="$1" ctx="$2" sid="$3"
    local instructions limit=("timeout" "-k" "30" "${ROVO_LIMIT:-7200}")

    CLAUDE_CMD_ARGS=()
    [[ -f "$prompt_file" ]] || { printf 'rovodev: %s not found\n' "$prompt_file" 1>&2; return 1; }
    instructions="$(cat -- "$prompt_file")" || return 1

    CLAUDE_CMD_ARGS+=("${limit[@]}")
    CLAUDE_CMD_ARGS+=(sudo -n -H -u "$ROVO_USER" --)
    CLAUDE_CMD_ARGS+=(stdbuf -oL acli rovodev run --yolo)
    if [[ "${CLAUDE_USE_CONTINUE:-false}" == "true" ]] && [[ -n "$sid" ]]; then
        CLAUDE_CMD_ARGS+=(--restore "$sid")
    fi
    if [[ "${CLAUDE_OUTPUT_FORMAT:-json}" == "json" ]]; then
        CLAUDE_CMD_ARGS+=(--output-schema '{"type":"object"}')
    fi
    CLAUDE_CMD_ARGS+=(-- "${ctx:+$ctx$'\n\n'}$instructions")
    return 0
}
