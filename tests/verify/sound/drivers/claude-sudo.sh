#!/usr/bin/env bash
# run claude as another user
driver_name() { echo claude-sudo; }
driver_display_name() { echo "Claude (sandbox user)"; }
driver_cli_binary() { echo sudo; }
driver_min_version() { echo 2.0.76; }
driver_check_available() { command -v sudo >/dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read Write Edit "Bash(git *)"); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_permission_denial_help() { echo "set ALLOWED_TOOLS in $RALPHRC_FILE and restart $DRIVER_DISPLAY_NAME"; }
driver_build_command() {
    local prompt_file=$1 ctx=$2 sid=$3 cmd_prompt IFS=$' \t\n'
    [[ -f $prompt_file ]] || return 1
    cmd_prompt=$(<"$prompt_file")
    CLAUDE_CMD_ARGS=(sudo -n -u agent -- claude --output-format "${CLAUDE_OUTPUT_FORMAT:-json}" --permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    if [[ -n ${CLAUDE_ALLOWED_TOOLS:-} ]]; then
        local tools; local -a list=()
        IFS=, read -ra tools <<< "$CLAUDE_ALLOWED_TOOLS"
        local t
        CLAUDE_CMD_ARGS+=(--allowedTools)
        for t in "${tools[@]}"; do
            t="${t#"${t%%[![:space:]]*}"}"; t="${t%"${t##*[![:space:]]}"}"
            [[ -n $t ]] && CLAUDE_CMD_ARGS+=("$t")
        done
    fi
    [[ ${CLAUDE_USE_CONTINUE:-} == true && -n $sid ]] && CLAUDE_CMD_ARGS+=(--resume "$sid")
    [[ -n $ctx ]] && CLAUDE_CMD_ARGS+=(--append-system-prompt "$ctx")
    CLAUDE_CMD_ARGS+=(-p -- "$cmd_prompt")
}
driver_prepare_live_command() {
    local a; LIVE_CMD_ARGS=()
    local prev=
    for a in "${CLAUDE_CMD_ARGS[@]}"; do
        if [[ $prev == --output-format ]]; then a=stream-json; fi
        LIVE_CMD_ARGS+=("$a"); 
        if [[ $prev == --output-format ]]; then LIVE_CMD_ARGS+=(--verbose --include-partial-messages); fi
        prev=$a
    done
}
driver_stream_filter() {
    echo 'select(.type == "stream_event") | .event | select(.type == "content_block_delta") | .delta | select(.type == "text_delta") | .text'
}
