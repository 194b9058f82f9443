AGENT_CLI="gemini"
AGENT_ARGS=(--yolo --output-format stream-json)
agent_invoke() {
    local prompt_file="$1"
    stdbuf -oL "$AGENT_CLI" "${AGENT_ARGS[@]}" < "$prompt_file"
}
agent_extract_response() {
    local output_file="$1"
    local line
    while IFS= read -r line || [[ -n "$line" ]]; do
        jq -j 'select(.type == "message" and .role == "assistant") | .content // empty' <<< "$line" 2>/dev/null || true
    done < "$output_file"
}
agent_format_display() {
    stdbuf -oL jq --unbuffered -R -j 'fromjson? // empty | select(type == "object") | select(.type == "message" and .role == "assistant") | .content // empty'
}
