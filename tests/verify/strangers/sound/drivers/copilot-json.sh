#!/usr/bin/env bash
# GitHub Copilot CLI with its JSON output and sessions

driver_name() { echo "copilot-json"; }
driver_display_name() { echo "GitHub Copilot CLI (JSON)"; }
driver_cli_binary() { echo "copilot"; }
driver_min_version() { echo "1.0.100"; }
driver_check_available() { command -v copilot >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("bash" "view" "create" "edit" "grep" "glob" "task" "shell(*)"); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local entry blank=$'\n\n'
    local -a entries=()

    if [[ ! -f "$prompt_file" ]]; then
        return 1
    fi

    CLAUDE_CMD_ARGS=(copilot --no-ask-user --output-format json)
    IFS=',' read -r -a entries <<<"${CLAUDE_ALLOWED_TOOLS:-}"
    for entry in ${entries[@]+"${entries[@]}"}; do
        entry="$(sed 's/^[[:space:]]*//; s/[[:space:]]*$//' <<<"$entry")"
        [[ -n "$entry" ]] || continue
        CLAUDE_CMD_ARGS+=("--allow-tool=$entry")
    done
    if [[ -z "${CLAUDE_ALLOWED_TOOLS:-}" ]]; then
        CLAUDE_CMD_ARGS+=(--yolo)
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--resume=$session_id")
    fi
    CLAUDE_CMD_ARGS+=("--prompt=${loop_context:+$loop_context$blank}$(cat "$prompt_file")")
}

driver_stream_filter() {
    cat <<'EOF'
if .type == "assistant.message" then (.data.content // "" | if . == "" then empty else . + "\n" end)
elif .type == "tool.execution_start" then "· \(.data.toolName // "tool")\n"
else empty end
EOF
}

driver_extract_session_id_from_output() {
    jq -rR 'fromjson? | objects | select(.type == "result") | .sessionId // empty' "$1" 2>/dev/null | tail -n 1
}
