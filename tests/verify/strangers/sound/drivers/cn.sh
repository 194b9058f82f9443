#!/usr/bin/env bash
#
# Continue's cn
#
driver_name() { echo "cn"; }
driver_display_name() { echo "Continue CLI"; }
driver_cli_binary() { echo "cn"; }
driver_min_version() { echo "1.5.0"; }
driver_check_available() { command -v cn >/dev/null 2>&1; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_stream_filter() { echo '.'; }
driver_supports_tool_allowlist() { return 0; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(Read List Search Bash Write Edit MultiEdit Fetch Checklist)
}

driver_permission_denial_help() {
    local name=${DRIVER_DISPLAY_NAME:-cn} rc=${RALPHRC_FILE:-.ralphrc}
    cat << TEXT
${name} has excluded a tool.

    allow it:   ALLOWED_TOOLS="Read,Write,Edit,Bash"   in ${rc}
    or see:     ~/.continue/permissions.yaml
TEXT
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2"
    local prompt tools t

    [[ -e "$prompt_file" && ! -d "$prompt_file" ]] || {
        >&2 echo "cn: there is no prompt file $prompt_file"
        return 1
    }
    prompt=$(sed -e 's/\r$//' "$prompt_file") # PROMPT.md from Windows

    CLAUDE_CMD_ARGS=("cn")
    case "${CLAUDE_OUTPUT_FORMAT:-json}" in
        json) CLAUDE_CMD_ARGS+=("--format" "json") ;;
    esac

    tools=$(echo "${CLAUDE_ALLOWED_TOOLS:-}" | awk -F, '{ for (i = 1; i <= NF; i++) { gsub(/^[ \t]+|[ \t]+$/, "", $i); if ($i != "") print $i } }')
    while IFS= read -r t; do
        [[ -n "$t" ]] && CLAUDE_CMD_ARGS+=("--allow" "$t")
    done <<< "$tools"

    [[ -n "$loop_context" ]] && CLAUDE_CMD_ARGS+=("--rule" "Loop context: $loop_context")

    CLAUDE_CMD_ARGS+=("--print" "$([[ "$prompt" == -* ]] && printf ' ')$prompt")
    return 0
}
