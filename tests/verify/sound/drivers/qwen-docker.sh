# shellcheck shell=bash
driver_name() { printf "%s\n" qwen-docker; }
driver_display_name() { printf '%s\n' "Qwen Code in docker"; }
driver_cli_binary() { printf '%s\n' docker; }
driver_min_version() { printf '%s\n' 0.0.9; }
driver_check_available() { type docker &>/dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("read_file" "write_file" "run_shell_command"); }
driver_supports_tool_allowlist() { false; }
driver_supports_sessions() { false; }
driver_supports_live_output() { false; }
driver_permission_denial_help() { cat <<EOF
Qwen runs in a container; mount what it needs.
Set ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}.
EOF
}
driver_build_command() {
    local file="$1" context="$2"; local text; CLAUDE_CMD_ARGS=()
    [ -f "$file" ] || { echo "Prompt file missing" >&2; return 1; }
    text="$(<"$file")"
    if [ -n "$context" ]; then
        text="$(printf '%s\n\n%s' "$context" "$text")"
    fi
    CLAUDE_CMD_ARGS+=(docker run --rm -i -v "$PWD:/work" -w /work)
    CLAUDE_CMD_ARGS+=(-e OPENAI_API_KEY)
    CLAUDE_CMD_ARGS+=(ghcr.io/qwenlm/qwen-code qwen --approval-mode yolo "--prompt=$text")
}
