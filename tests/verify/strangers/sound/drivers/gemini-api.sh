#!/usr/bin/env bash
# Gemini CLI with an API key. Needs gemini >= 0.40 for stream-json.

driver_name() { echo "gemini-api"; }
driver_display_name() { echo "Gemini (API key)"; }
driver_cli_binary() { echo "gemini"; }
driver_min_version() { echo "0.40.0"; }
driver_check_available() { command -v gemini >/dev/null 2>&1; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        read_file write_file replace glob grep_search list_directory
        run_shell_command "run_shell_command(*)" web_fetch google_web_search
    )
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "$DRIVER_DISPLAY_NAME refused a tool. The loop runs it with --approval-mode yolo;"
    echo "look for a policy in ~/.gemini/policies, then start the loop again."
}

driver_build_command() {
    local prompt_file="$1"
    local loop_context="$2"
    local session_id="$3"
    local text

    if [[ ! -r "$prompt_file" ]]; then
        echo "gemini-api: cannot read $prompt_file" >&2
        return 1
    fi
    text="$(cat "$prompt_file")"
    if [[ -n "$loop_context" ]]; then
        text="${loop_context}"$'\n\n'"${text}"
    fi

    CLAUDE_CMD_ARGS=(gemini)
    CLAUDE_CMD_ARGS+=(--output-format "${CLAUDE_OUTPUT_FORMAT:-json}")
    CLAUDE_CMD_ARGS+=(--approval-mode yolo --skip-trust)
    if [[ -n "${GEMINI_MODEL:-}" ]]; then
        CLAUDE_CMD_ARGS+=(--model "$GEMINI_MODEL")
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=(--resume "$session_id")
    fi
    # a prompt that starts with a dash only arrives with the equals sign
    CLAUDE_CMD_ARGS+=("--prompt=$text")
    return 0
}

driver_prepare_live_command() {
    local a previous=""
    LIVE_CMD_ARGS=()
    for a in "${CLAUDE_CMD_ARGS[@]}"; do
        [[ "$previous" == --output-format ]] && a="stream-json"
        LIVE_CMD_ARGS+=("$a")
        previous="$a"
    done
}

driver_stream_filter() {
    echo 'select(.type == "message" and .role == "assistant") | .content // empty'
}
