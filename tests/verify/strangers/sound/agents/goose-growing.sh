#!/usr/bin/env bash
# goose sends a message again and again while it grows (same id); only the last version of each counts.
AGENT_CLI="goose"

agent_invoke() {
    local prompt_file="$1"
    timeout "${GOOSE_TIMEOUT:-3600}" "$AGENT_CLI" run --no-session --output-format stream-json --instructions - < "$prompt_file"
}

agent_extract_response() {
    # fromjson? drops what is no JSON, line by line
    jq -Rrn '
        reduce (inputs | fromjson? | objects | select(.type == "message") | .message | objects
                | select(.role == "assistant")) as $m ({};
            .[$m.id // "-"] = ([$m.content[]? | objects | select(.type == "text") | .text] | join("")))
        | .[] | select(. != "")' "$1" 2>/dev/null || true
}

agent_format_display() {
    local line id="" text shown="" now
    while IFS= read -r line || [ -n "$line" ]; do
        text=$(printf '%s' "$line" | jq -r '
            objects | select(.type == "message") | .message | select(.role == "assistant")
            | (.id // "-"), ([.content[] | select(.type == "text") | .text] | join(""))' 2>/dev/null) || continue
        [ -n "$text" ] || continue
        now=${text%%$'\n'*}
        case "$text" in *$'\n'*) text=${text#*$'\n'} ;; *) text="" ;; esac
        if [ "$now" != "$id" ]; then
            [ -z "$id" ] || echo
            id=$now shown=""
        fi
        printf '%s' "${text#"$shown"}"
        shown=$text
    done
    [ -z "$id" ] || echo
}
