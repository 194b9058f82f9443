#!/usr/bin/env bash
set -Eeuo pipefail

AGENT_CLI="amp"
declare -a _amp_strict_args=(-x --dangerously-allow-all --stream-json)

_amp_strict_filter() {
    local line
    while IFS= read -r line || [[ -n "${line}" ]]; do
        case "${line}" in
            \{*) printf '%s\n' "${line}" | jq --raw-output "$1" 2>/dev/null || true ;;
            *) : ;;
        esac
    done
}

agent_invoke() {
    local prompt_file="${1:?agent_invoke needs a file}"
    "${AGENT_CLI}" "${_amp_strict_args[@]}" <"${prompt_file}"
}

agent_extract_response() {
    _amp_strict_filter 'select(.type == "assistant") | .message.content[] | select(.type == "text") | .text' <"$1"
}

agent_format_display() {
    _amp_strict_filter 'select(.type == "assistant") | .message.content[]
        | if .type == "text" then .text elif .type == "tool_use" then "[tool] \(.name)" else empty end'
}
