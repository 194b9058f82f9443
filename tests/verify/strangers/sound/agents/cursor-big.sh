#!/usr/bin/env bash
# cursor-agent wants its prompt as an argument, so a prompt near 128 KiB has to be cut up: it is told to read the file.

AGENT_CLI="cursor-agent"

agent_invoke() {
    local prompt_file="$1" size
    local -a args=(--print --force --output-format stream-json)
    size=$(wc -c < "$prompt_file")
    if [ "$size" -lt 100000 ]; then
        "$AGENT_CLI" "${args[@]}" -- "$(cat "$prompt_file")"
    else
        "$AGENT_CLI" "${args[@]}" -- "Read the file $prompt_file, all of it, and do what it says."
    fi
}

# -R reads lines, fromjson? drops those that are no JSON; --unbuffered writes each event when it comes.
_cursor_events() {
    jq -R -r --unbuffered 'fromjson? | objects | '"$1"
}

agent_extract_response() {
    _cursor_events 'select(.type == "assistant") | [.message.content[]? | objects | select(.type == "text") | .text] | add // empty' < "$1"
}

agent_format_display() {
    _cursor_events '
        if .type == "assistant" then [.message.content[]? | objects | select(.type == "text") | .text] | add // empty
        elif .type == "tool_call" and .subtype == "started" then "[tool] " + (.tool_call // {} | keys_unsorted | join(" "))
        elif .type == "result" and .is_error == true then "[error] " + (.result // "" | tostring)
        else empty end'
}
