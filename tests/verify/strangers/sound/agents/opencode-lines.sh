#!/bin/bash

AGENT_CLI=opencode

agent_invoke() {
    local model=()
    if [ -n "${OPENCODE_MODEL:-}" ]; then
        model=(--model "$OPENCODE_MODEL")
    fi
    nice -n 5 "$AGENT_CLI" run --format json ${model[@]+"${model[@]}"} <"$1"
}

_opencode_text() {
    printf '%s\n' "$1" | jq -r 'select(.type == "text") | .part.text // empty' 2>/dev/null
}

agent_extract_response() {
    local line text
    while IFS= read -r line || [ "$line" ]; do
        text=$(_opencode_text "$line") || continue
        if [ "$text" ]; then
            echo "$text"
        fi
    done <"$1"
}

agent_format_display() {
    local line
    while IFS= read -r line || [ "$line" ]; do
        case $line in
            '{'*'"tool_use"'*)
                printf '%s\n' "$line" | jq -r '"* " + (.part.tool // "tool") + " " + (.part.state.title // "")' 2>/dev/null || true
                ;;
            '{'*)
                _opencode_text "$line" || true
                ;;
        esac
    done
}
