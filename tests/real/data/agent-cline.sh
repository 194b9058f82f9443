# An agent as one finds them in the field; it has drifted from today's cline (D3). For the tests of `drift`.
# shellcheck shell=bash disable=SC2034
AGENT_CLI="cline"

_configured() {
    local state="${CLINE_DIR:-$HOME/.cline/data}/globalState.json"
    if [[ ! -f "$state" ]]; then
        echo "Error: Cline is not configured. Run 'cline auth' first." >&2
        return 1
    fi
}

agent_invoke() {
    _configured || return 1
    cat "$1" | cline -y --json
}

agent_extract_response() {
    while IFS= read -r line; do
        echo "$line" | jq -r 'select(.type=="say" or .type=="ask") | select(.partial != true) | .text' 2>/dev/null || true
    done <"$1"
}

agent_format_display() {
    while IFS= read -r line; do
        echo "$line" | jq -r 'select(.type=="say") | .text' 2>/dev/null || true
    done
}
