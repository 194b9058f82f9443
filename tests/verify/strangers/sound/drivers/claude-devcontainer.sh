#!/usr/bin/env bash
# claude behind devcontainer, where that is installed

driver_name () {
    echo "claude-devcontainer"
}
driver_display_name () {
    echo "Claude Code (devcontainer)"
}
driver_cli_binary () {
    echo "claude"
}
driver_valid_tools () {
    # shellcheck disable=SC2207
    VALID_TOOL_PATTERNS=( $(echo "Bash Edit Glob Grep Read Task WebFetch WebSearch Write") "mcp__*" )
}
driver_supports_tool_allowlist () {
    return 0
}
driver_supports_sessions () {
    return 0
}
driver_supports_live_output () {
    return 0
}
driver_permission_denial_help () {
    echo "Claude Code needs more in ALLOWED_TOOLS ($RALPHRC_FILE)."
}
driver_min_version () {
    echo "2.1.0"
}
driver_check_available () {
    local where
    where=$(command -v claude) && [ -n "$where" ]
}
driver_build_command () {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local -a wrap cont ctx tools
    local list=${CLAUDE_ALLOWED_TOOLS:-} prompt

    test -f "$prompt_file" || { echo "claude-devcontainer: $prompt_file is missing" >&2; return 1; }
    prompt=$(cat "$prompt_file")

    wrap=() cont=() ctx=() tools=()
    if command -v devcontainer >/dev/null 2>&1; then wrap=(devcontainer exec --workspace-folder .); fi
    [ "${CLAUDE_USE_CONTINUE:-}" != true ] || [ -z "$session_id" ] || cont=(--resume "$session_id")
    [ -z "$loop_context" ] || ctx=(--append-system-prompt "$loop_context")
    # one word with commas, blanks around them removed
    list=$(printf '%s' "$list" | sed -E 's/[[:space:]]*,[[:space:]]*/,/g; s/^[[:space:],]+//; s/[[:space:],]+$//')
    [ -z "$list" ] || tools=(--allowed-tools="$list")

    CLAUDE_CMD_ARGS=(${wrap[@]+"${wrap[@]}"} claude "--output-format=${CLAUDE_OUTPUT_FORMAT:-json}"
        "--permission-mode=${CLAUDE_PERMISSION_MODE:-bypassPermissions}"
        ${tools[@]+"${tools[@]}"} ${cont[@]+"${cont[@]}"} ${ctx[@]+"${ctx[@]}"} --print -- "$prompt")
}
driver_prepare_live_command () {
    local -a extra=(--verbose --include-partial-messages)
    local word
    LIVE_CMD_ARGS=()
    for word in "${CLAUDE_CMD_ARGS[@]}"; do
        if [ "${#extra[@]}" -gt 0 ]; then
            case "$word" in
                --output-format=*)
                    LIVE_CMD_ARGS+=(--output-format=stream-json "${extra[@]}")
                    extra=()
                    continue ;;
            esac
        fi
        LIVE_CMD_ARGS+=("$word")
    done
}
driver_stream_filter () {
    local filter
    IFS= read -r -d '' filter <<'JQ' || true
# one text_delta at a time; input_json_delta and thinking are not shown
if .type != "stream_event" then empty
elif .event.delta.type? == "text_delta" then .event.delta.text
elif .event.type == "content_block_start" and .event.content_block.type == "tool_use"
then "\n[" + .event.content_block.name + "] "
else empty end
JQ
    printf '%s' "$filter"
}
