#!/usr/bin/env bash
# qwen --output-format json: one array, when all is over

AGENT_CLI="qwen"

agent_invoke() {
    local prompt_file="$1"
    local -a cmd=("$AGENT_CLI" --output-format json --approval-mode yolo)
    [[ -z "${QWEN_MODEL:-}" ]] || cmd+=(--model "$QWEN_MODEL")
    "${cmd[@]}" < "$prompt_file"
}

_qwen_array() {
    local line
    while IFS= read -r line || [[ $line ]]; do
        [[ $line == "["* ]] || continue
        jq -r "$1" <<< "$line" 2> /dev/null || :
    done
}

agent_extract_response() {
    _qwen_array '.[] | objects | select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text' < "$1"
}

agent_format_display() {
    _qwen_array '.[] | objects | select(.type == "assistant") | .message.content[]?
        | if .type == "text" then .text elif .type == "tool_use" then "[\(.name)]" else empty end'
}
