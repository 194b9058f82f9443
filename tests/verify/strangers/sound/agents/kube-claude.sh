#!/usr/bin/env bash
# claude in a pod; -i keeps stdin open for the prompt

AGENT_CLI=kubectl
: "${KUBE_CLAUDE_POD:=claude-0}"

agent_invoke() {
    kubectl exec -i "$KUBE_CLAUDE_POD" -- \
        env IS_SANDBOX=1 claude -p --verbose --output-format stream-json --dangerously-skip-permissions <"$1"
}

agent_extract_response() {
    jq -nRr 'inputs | (try fromjson catch null)
        | if type == "object" and .type == "assistant" and (.message.content | type) == "array"
          then .message.content[] | select(.type == "text") | .text
          else empty end' "$1"
}

agent_format_display() {
    jq -nRr --unbuffered 'inputs | (try fromjson catch null)
        | if type == "object" and .type == "assistant" and (.message.content | type) == "array"
          then .message.content[] | if .type == "text" then .text elif .type == "tool_use" then "* " + .name else empty end
          else empty end'
}
