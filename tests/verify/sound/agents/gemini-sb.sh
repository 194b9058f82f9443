AGENT_CLI="gemini"
AGENT_ARGS=(--yolo --output-format stream-json)
agent_invoke() {
    local prompt_file="$1"
    stdbuf -oL "$AGENT_CLI" "${AGENT_ARGS[@]}" < "$prompt_file"
}
agent_extract_response() {
    local output_file="$1"
    local line text
    while IFS= read -r line || [[ -n "$line" ]]; do
        if text=$(jq -er 'select(.type == "message" and .role == "assistant") | .content' <<< "$line" 2>/dev/null); then
            printf '%s\n' "$text"
        fi
    done < "$output_file"
}
agent_format_display() {
    stdbuf -oL jq --unbuffered -R -r 'fromjson? // empty | select(type == "object") | select(.type == "message" and .role == "assistant") | .content // empty'
}
