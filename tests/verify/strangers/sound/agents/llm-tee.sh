#!/usr/bin/env bash
# our llm client: text, and what it costs on the last line

AGENT_CLI="llm-chat"

agent_invoke() {
    llm-chat --auto --model "${LLM_CHAT_MODEL:-large}" < "$1" | tee "${RALPH_DIR:-.}/llm-chat.raw"
    return "${PIPESTATUS[0]}"
}

agent_extract_response() {
    sed -e '/^cost: /d' -e '/^\[tool\] /d' -- "$1"
}

agent_format_display() {
    local text
    while IFS= read -r text || [ -n "$text" ]; do
        printf '%s\n' "$text"
    done
}

agent_post_iteration() {
    local cost
    cost=$(sed -n 's/^cost: //p' "${RALPH_DIR:-.}/llm-chat.raw" 2>/dev/null | tail -n 1)
    [ -z "$cost" ] || log "Iteration Cost: $cost"
}
