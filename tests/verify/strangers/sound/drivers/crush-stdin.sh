#!/usr/bin/env bash
# crush reads its prompt on stdin. The loop closes stdin, so a small shell opens the file for it.

driver_name() { echo "crush-stdin"; }
driver_display_name() { echo "Crush (stdin)"; }
driver_cli_binary() { echo "crush"; }
driver_min_version() { echo "0.20.0"; }
driver_check_available() { command -v crush >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("bash" "edit" "view" "write" "grep" "glob"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    if [[ ! -f "$prompt_file" ]]; then
        return 1
    fi
    # $0 is crush, $1 the file, $2 the context, the rest are options
    CLAUDE_CMD_ARGS=(
        bash -c '
            file=$1 context=$2
            shift 2
            { if [ -n "$context" ]; then printf "%s\n\n" "$context"; fi; cat "$file"; } | "$0" run --quiet "$@"
        ' crush "$prompt_file" "$loop_context"
    )
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        CLAUDE_CMD_ARGS+=("--session=$session_id")
    fi
}

driver_extract_session_id_from_output() {
    awk -F': ' '$1 == "session" { id = $2 } END { if (id != "") print id }' "$1"
}
