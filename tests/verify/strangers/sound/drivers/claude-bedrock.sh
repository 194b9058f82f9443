#!/usr/bin/env bash
################################################################################
# claude-bedrock — Claude Code against Bedrock
################################################################################

driver_name() { echo "claude-bedrock"; }
driver_display_name() { echo "Claude Code on Bedrock"; }
driver_cli_binary() { echo "claude"; }
driver_min_version() { echo "2.1.0"; }
driver_check_available() { command -v claude >/dev/null 2>&1; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(Agent Bash "Bash(*)" Edit Glob Grep Read Skill Task WebFetch WebSearch Write "mcp__*")
}

driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "1. add the tool to ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}"
    echo "2. or set CLAUDE_PERMISSION_MODE=bypassPermissions there"
}

_add() { CLAUDE_CMD_ARGS+=("$@"); }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" prompt tool
    CLAUDE_CMD_ARGS=()

    if ! prompt="$(cat "$prompt_file" 2>/dev/null)"; then
        echo "cannot read prompt file: $prompt_file" >&2
        return 1
    fi

    _add env CLAUDE_CODE_USE_BEDROCK=1 "AWS_REGION=${AWS_REGION:-eu-central-1}"
    _add claude
    case "$CLAUDE_OUTPUT_FORMAT" in
        json) _add --output-format json ;;
        text) _add --output-format text ;;
    esac
    _add --permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}"
    if [[ -n "$CLAUDE_ALLOWED_TOOLS" ]]; then
        local list=()
        while IFS= read -r tool; do
            list+=("$tool")
        done < <(printf '%s\n' "$CLAUDE_ALLOWED_TOOLS" | tr ',' '\n' | sed 's/^[[:space:]]*//; s/[[:space:]]*$//; /^$/d')
        if [[ ${#list[@]} -gt 0 ]]; then _add --allowedTools "${list[@]}"; fi
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then _add --resume "$session_id"; fi
    if [[ -n "$loop_context" ]]; then _add --append-system-prompt "$loop_context"; fi
    _add -p "$prompt"
}

driver_prepare_live_command() {
    local arg seen=
    LIVE_CMD_ARGS=()
    for arg in "${CLAUDE_CMD_ARGS[@]}"; do
        if [[ $seen == format ]]; then
            arg=stream-json
            seen=done
        elif [[ -z $seen && $arg == --output-format ]]; then
            seen=format
        fi
        LIVE_CMD_ARGS+=("$arg")
        [[ $arg == stream-json && $seen == done ]] && LIVE_CMD_ARGS+=(--verbose) && seen=verbose
    done
    return 0
}

driver_stream_filter() {
    echo 'if .type == "assistant" and .parent_tool_use_id == null then ([.message.content[]? | select(.type == "text").text] | join("\n")) + "\n" else empty end'
}
