#!/usr/bin/env bash
# Qwen Code on the GPU box. Prompts cross two shells, so they travel as base64 and nobody has to think about quotes.

QWEN_HOST="${QWEN_HOST:-gpu-01.internal}"

driver_name() { echo "qwen-remote"; }
driver_display_name() { echo "Qwen Code @ ${QWEN_HOST}"; }
driver_cli_binary() { echo "ssh"; }
driver_min_version() { echo "0.20.0"; }
driver_check_available() { command -v ssh &>/dev/null; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=("read_file" "write_file" "edit" "run_shell_command" "run_shell_command(*)" "glob" "grep_search" "web_fetch" "todo_write")
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "qwen runs with --yolo on ${QWEN_HOST}; look at ~/.qwen/settings.json there."
}

_qwen_remote() {
    local prompt64="$1" session64="$2" format="$3"
    cat <<REMOTE
set -e
cd ~/src/ || exit 1
prompt=\$(echo $prompt64 | base64 -d)
session=\$(echo $session64 | base64 -d)
qwen --yolo --output-format $format \${session:+--resume "\$session"} --prompt="\$prompt"
REMOTE
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local prompt64 session64="" format="json"

    [[ -f "$prompt_file" && -r "$prompt_file" ]] || return 1

    prompt64="$({ [[ -z "$loop_context" ]] || printf '%s\n\n' "$loop_context"; cat "$prompt_file"; } | base64 | tr -d '\n')"
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" ]]; then
        session64="$(printf '%s' "$session_id" | base64 | tr -d '\n')"
    fi
    [[ "${CLAUDE_OUTPUT_FORMAT:-json}" == "json" ]] || format="text"

    CLAUDE_CMD_ARGS=("ssh" "-o" "ServerAliveInterval=30" "$QWEN_HOST" "$(_qwen_remote "$prompt64" "$session64" "$format")")
}

driver_prepare_live_command() {
    local last=$((${#CLAUDE_CMD_ARGS[@]} - 1)) script
    script="${CLAUDE_CMD_ARGS[$last]}"
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]:0:$last}")
    # the only place where the format can stand; base64 has no dashes and no blanks
    script="${script/--output-format json/--output-format stream-json}"
    script="${script/--output-format text/--output-format stream-json}"
    LIVE_CMD_ARGS+=("$script")
}

driver_stream_filter() {
    printf '%s' 'select(type == "object" and .type == "assistant") | .message.content[]? | select(.type == "text") | .text, "\n"'
}
