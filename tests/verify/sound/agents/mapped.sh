AGENT_CLI="opencode"
agent_invoke() {
    local prompt_file=$1
    { command "$AGENT_CLI" run --format json < "$prompt_file"; } 2> >(sed -u '/^INFO /d' >&2)
}
agent_extract_response() {
    local -a lines; local l
    mapfile -t lines < "$1"
    for l in "${lines[@]}"; do
        jq -r 'select(.type=="text") | .part.text' <<<"$l" 2>/dev/null || continue
    done
}
agent_format_display() {
    local l
    while IFS= read -r l; do
        case "$l" in
            *'"type":"text"'*) jq -r '.part.text // empty' <<<"$l" 2>/dev/null || true ;;
            *'"type":"tool_use"'*) jq -r '"[tool] " + (.part.tool // "?")' <<<"$l" 2>/dev/null || true ;;
        esac
    done
}
