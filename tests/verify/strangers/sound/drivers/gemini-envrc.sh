#!/usr/bin/env bash
# gemini with the project's direnv (keys are in .envrc)

driver_name() { echo "gemini-envrc"; }
driver_display_name() { echo "Gemini CLI"; }
driver_cli_binary() { echo "gemini"; }
driver_min_version() { echo "0.50.0"; }
driver_check_available() { command -v gemini > /dev/null 2>&1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_supports_tool_allowlist() { return 1; }
driver_permission_denial_help() { echo "Run gemini by hand once and trust this folder. Settings: ${RALPHRC_FILE:-.ralphrc}"; }

driver_valid_tools() {
    local tool
    VALID_TOOL_PATTERNS=()
    while read -r tool; do
        VALID_TOOL_PATTERNS+=("$tool")
    done << TOOLS
read_file
write_file
replace
run_shell_command
list_directory
glob
google_web_search
web_fetch
TOOLS
}

driver_build_command() {
    local file=$1 context=$2 session=$3 prompt
    if [[ ! -f $file ]]; then
        echo >&2 "gemini driver: $file: no such prompt"
        return 1
    fi
    prompt=$(awk -v ORS='\n' '{ print }' < "$file")
    if [[ -n $context ]]; then prompt="$context"$'\n\n'"$prompt"; fi

    CLAUDE_CMD_ARGS=()
    if [[ -f .envrc ]]; then CLAUDE_CMD_ARGS=(direnv exec .); fi
    CLAUDE_CMD_ARGS+=(gemini --yolo -o "${CLAUDE_OUTPUT_FORMAT:-json}")
    case "$CLAUDE_USE_CONTINUE:$session" in
        true:?*) CLAUDE_CMD_ARGS+=(--resume "$session") ;;
    esac
    CLAUDE_CMD_ARGS+=("--prompt=$prompt")
}

driver_prepare_live_command() {
    local w before=""
    LIVE_CMD_ARGS=()
    for w in "${CLAUDE_CMD_ARGS[@]}"; do
        [[ $before != -o ]] || w=stream-json
        LIVE_CMD_ARGS+=("$w")
        before=$w
    done
}

driver_stream_filter() {
    cat << 'EOF_FILTER'
# what the model says, and a dot for each tool
if type == "object" then
  if .type == "message" and .role == "assistant" then .content // ""
  elif .type == "tool_use" then "."
  elif .type == "result" then "\n"
  else empty end
else empty end
EOF_FILTER
}

driver_extract_session_id_from_output() {
    perl -ne 'if (/^\{.*"type"\s*:\s*"init".*"session_id"\s*:\s*"([^"]+)"/ || /^\s*"session_id"\s*:\s*"([^"]+)"/) { print "$1\n"; exit }' "$1"
}
