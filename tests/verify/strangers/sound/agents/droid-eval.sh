#!/usr/bin/env bash
AGENT_CLI=droid
AGENT_ARGS='exec --auto high --output-format stream-json'

for _f in extract_response format_display; do
    case $_f in
        extract_response) _from='< "$1"' _sel='select(.type == "message" and .role == "assistant") | .text' ;;
        format_display) _from='' _sel='if .type == "message" and .role == "assistant" then .text elif .type == "tool_call" then "[tool] " + .toolName else empty end' ;;
    esac
    eval "agent_$_f() {
        local line
        while IFS= read -r line || [ -n \"\$line\" ]; do
            printf '%s\\n' \"\$line\" | jq -r '$_sel' 2>/dev/null || true
        done $_from
    }"
done
unset _f _from _sel

agent_invoke() {
    local IFS=' '
    droid $AGENT_ARGS <"$1"
}
