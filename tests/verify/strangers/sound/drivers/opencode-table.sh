#!/usr/bin/env bash
# OpenCode, table driven: what is constant is generated, what is not is written out.
# shellcheck disable=SC2034,SC2016

__oc_constants='
name=opencode-table
display_name=OpenCode
cli_binary=opencode
min_version=1.0.0
'
while IFS='=' read -r __oc_key __oc_value; do
    [ -n "$__oc_key" ] || continue
    eval "driver_${__oc_key}() { printf '%s\\n' \"$__oc_value\"; }"
done <<< "$__oc_constants"

for __oc_key in tool_allowlist:1 sessions:0 live_output:0; do
    eval "driver_supports_${__oc_key%:*}() { return ${__oc_key#*:}; }"
done
unset -v __oc_constants __oc_key __oc_value

driver_valid_tools() {
    VALID_TOOL_PATTERNS=()
    local group tool
    for group in "bash edit write patch" "glob grep list read" "task todowrite todoread webfetch"; do
        for tool in $group; do VALID_TOOL_PATTERNS+=("$tool"); done
    done
}

driver_build_command() {
    [[ -f $1 ]] || { echo "no prompt: $1" >&2; return 1; }
    local -a words=(opencode run --format)
    case ${CLAUDE_OUTPUT_FORMAT:-json} in
        json) words+=(json) ;;
        *) words+=(default) ;;
    esac
    case ${CLAUDE_USE_CONTINUE:-}/$3 in
        true/?*) words+=(--session "$3") ;;
    esac
    words+=(-- "${2}${2:+$'\n\n'}$(cat "$1")")
    CLAUDE_CMD_ARGS=("${words[@]}")
}

driver_permission_denial_help() {
    echo 'Set "permission": {"edit": "allow", "bash": "allow"} in opencode.json.'
}

driver_prepare_live_command() {
    # --format is the third word, always
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]:0:3}" json "${CLAUDE_CMD_ARGS[@]:4}")
}

driver_stream_filter() {
    echo '
        def line: . + "\n";
        def short($n): if length > $n then .[0:$n] + "..." else . end;
        try (
            if .type == "text" then .part.text | line
            elif .type == "tool_use" then "| " + .part.tool + " " + ((.part.state.title // "") | short(60)) | line
            elif .type == "error" then "! " + (.error.data.message // .error.name // "error") | line
            else empty end
        ) catch empty'
}

driver_extract_session_id_from_output() {
    # first event that has it; ids look like ses_...
    sed -n 's/^{"type":"[a-z_]*","timestamp":[0-9]*,"sessionID":"\(ses_[A-Za-z0-9]*\)".*/\1/p;' "${1:-/dev/null}" | head -n 1
}

driver_check_available() { [ -n "$(command -v opencode)" ]; }
