#!/usr/bin/env bash
# opencode: jq for the response, sed for the screen

AGENT_CLI="opencode"
AGENT_ARGS="run --format json"

agent_invoke() {
    local prompt_file=$1
    # shellcheck disable=SC2086
    exec "$AGENT_CLI" $AGENT_ARGS < "$prompt_file"
}

agent_extract_response() {
    local line
    while IFS= read -r line; do
        jq -r '.part.text // empty' <<< "$line" 2> /dev/null
    done < <(grep '^{"type":"text"' "$1")
    :
}

agent_format_display() {
    local line text
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
            '{"type":"text"'*) text=$(jq -r .part.text <<< "$line" 2> /dev/null) && printf '%s\n' "$text" ;;
            '{"type":"tool_use"'*) sed -n 's/.*"tool":"\([a-z_]*\)".*/[\1]/p' <<< "$line" ;;
            '{'*) ;;
            *) printf '? %s\n' "$line" ;;
        esac
    done
    return 0
}
