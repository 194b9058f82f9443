# An agent as one finds them in the field; it has drifted from today's claude (D2). For the tests of `drift`.
# shellcheck shell=bash disable=SC2034,SC2086
AGENT_CLI="claude"
AGENT_ARGS="${FIELD_ARGS:-} --output-format stream-json -p"

agent_invoke() {
    cat "$1" | $AGENT_CLI $AGENT_ARGS
}

agent_extract_response() {
    while IFS= read -r line; do
        echo "$line" | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text' 2>/dev/null || true
    done <"$1"
}

agent_format_display() {
    while IFS= read -r line; do
        echo "$line" | jq -r 'select(.type=="assistant") | .message.content[]
            | if .type == "text" then .text elif .type == "tool_use" then "[tool] " + .name else empty end' 2>/dev/null || true
    done
}
