#!/usr/bin/env bash
# Kiro CLI (was: q chat). Optional settings, one NAME=VALUE per line, in .kiro-driver.conf of the project:
#   agent=backend
#   model=claude-sonnet

driver_name() { echo "kiro-conf"; }
driver_display_name() { echo "Kiro"; }
driver_cli_binary() { echo "kiro-cli"; }
driver_min_version() { echo "1.20.0"; }
driver_check_available() { command -v kiro-cli >/dev/null 2>&1; }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }

driver_valid_tools() {
    # shellcheck disable=SC2034
    VALID_TOOL_PATTERNS=(
        "fs_read" "fs_write" "execute_bash" "use_aws" "report_issue" "knowledge" "thinking" "todo_list"
        "@*" "execute_bash(*)"
    )
}

driver_permission_denial_help() {
    echo "Kiro wanted a tool that is not trusted."
    echo "Add it to ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}; without that setting all tools are trusted."
}

_kiro_trim() {
    local s="$1"
    s="${s#"${s%%[![:space:]]*}"}"
    s="${s%"${s##*[![:space:]]}"}"
    printf '%s' "$s"
}

_kiro_setting() {
    local wanted="$1" key value
    [[ -r .kiro-driver.conf ]] || return 0
    while IFS='=' read -r key value; do
        if [[ "$key" == "$wanted" ]]; then printf '%s' "$value"; fi
    done < .kiro-driver.conf
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local text tool trusted="" agent
    local -a wanted

    if [[ ! -f "$prompt_file" ]]; then
        echo "kiro: prompt file not found: $prompt_file" >&2
        return 1
    fi

    CLAUDE_CMD_ARGS=(kiro-cli chat --no-interactive --wrap never)

    agent="$(_kiro_setting agent)"
    if [[ -n "$agent" ]]; then
        CLAUDE_CMD_ARGS+=(--agent "$agent")
    fi

    if [[ -n "${CLAUDE_ALLOWED_TOOLS:-}" ]]; then
        IFS=',' read -r -a wanted <<< "$CLAUDE_ALLOWED_TOOLS"
        for tool in "${wanted[@]}"; do
            tool="$(_kiro_trim "$tool")"
            [[ -z "$tool" ]] || trusted+="${trusted:+,}$tool"
        done
        CLAUDE_CMD_ARGS+=("--trust-tools=$trusted")
    else
        CLAUDE_CMD_ARGS+=(--trust-all-tools)
    fi

    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=(--resume-id "$session_id")
    fi

    text="$(cat "$prompt_file")"
    if [[ -n "$loop_context" ]]; then
        text="$loop_context"$'\n\n'"$text"
    fi
    CLAUDE_CMD_ARGS+=(-- "$text")
}

driver_extract_session_id_from_output() {
    # "Session saved: 3f0c... (kiro-cli chat --resume-id 3f0c...)"
    sed -n 's/^Session saved: \([0-9a-f][-0-9a-f]*\).*/\1/p' "$1" | tail -n 1
}
