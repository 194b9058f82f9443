#!/usr/bin/env bash
# Gemini CLI driver. Tested with gemini 0.61.

driver_name()         { echo "gemini"; }
driver_display_name() { echo "Gemini CLI"; }
driver_cli_binary()   { echo "gemini"; }
driver_min_version()  { echo "0.46.0"; }
driver_check_available() { command -v gemini >/dev/null 2>&1; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(
        "read_file" "read_many_files" "write_file" "replace" "list_directory"
        "glob" "grep_search" "run_shell_command" "web_fetch" "google_web_search"
    )
}

# The whole prompt goes into ONE word, --prompt=..., because yargs takes "-p" "- [ ] task" for two options.
driver_build_command() {
    local file="$1" ctx="$2" sid="$3" fmt text
    [ -f "$file" ] || { echo "gemini driver: cannot read $file" >&2; return 1; }
    text="$(cat "$file")"
    [ -z "$ctx" ] || text="$ctx"$'\n\n'"$text"
    case "${CLAUDE_OUTPUT_FORMAT:-json}" in
        text) fmt=text ;;
        *)    fmt=json ;;
    esac
    CLAUDE_CMD_ARGS=(gemini --output-format "$fmt" --approval-mode yolo --skip-trust)
    if [ "${CLAUDE_USE_CONTINUE:-false}" = true ] && [ -n "$sid" ]; then
        CLAUDE_CMD_ARGS+=(--resume "$sid")
    fi
    CLAUDE_CMD_ARGS+=("--prompt=$text")
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions()       { return 0; }
driver_supports_live_output()    { return 0; }

driver_permission_denial_help() {
    cat <<HELP
$DRIVER_DISPLAY_NAME declined a tool call.
 - trust the folder (the driver passes --skip-trust; older releases want GEMINI_CLI_TRUST_WORKSPACE=true)
 - look for deny rules in ~/.gemini/policies/*.toml
 - then start the loop again. Loop settings live in $RALPHRC_FILE.
HELP
}

driver_prepare_live_command() {
    local i seen=
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    for i in "${!LIVE_CMD_ARGS[@]}"; do
        # only the first --output-format is ours; a context can't be a word of its own here
        if [ -z "$seen" ] && [ "${LIVE_CMD_ARGS[i]}" = --output-format ]; then
            LIVE_CMD_ARGS[i + 1]=stream-json
            seen=1
        fi
    done
}

driver_stream_filter() {
    cat <<'JQ'
if .type == "message" and .role == "assistant" then (.content // empty)
elif .type == "tool_use" then "\n[" + (.tool_name // "tool") + "]\n"
elif .type == "result" then "\n"
else empty end
JQ
}
