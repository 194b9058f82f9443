# An agent whose CLI writes plain text only.
AGENT_CLI="llm"
agent_invoke() { "$AGENT_CLI" --no-stream < "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { while IFS= read -r line || [[ -n $line ]]; do printf '%s\n' "$line"; done; }
