AGENT_CLI=opencode

agent_invoke() {
    opencode run --agent "${OPENCODE_AGENT:-build}" --format json < "$1"
}

# {"type":"text","timestamp":1,"sessionID":"ses_x","part":{"id":"p","messageID":"m","sessionID":"ses_x","type":"text","text":"...","time":{}}}
_opencode_filter() {
    local line mode=$1
    while IFS= read -r line || test -n "$line"; do
        [[ $line == '{"type":"'* ]] || continue
        case ${line#'{"type":"'} in
            text\"*) jq -r '.part.text // empty' <<< "$line" ;;
            tool_use\"*) [[ $mode == text ]] || jq -r '"[" + (.part.tool // "tool") + "] " + (.part.state.title // "" | tostring)' <<< "$line" ;;
            error\"*) [[ $mode == text ]] || jq -r '"[error] " + (.error.data.message // .error.name // "unknown")' <<< "$line" ;;
        esac 2> /dev/null
    done
    return 0
}

agent_extract_response() { _opencode_filter text < "$1"; }
agent_format_display() { _opencode_filter all; }
