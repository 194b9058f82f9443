# no jq on that machine: sed and grep only
AGENT_CLI="tinyagent"
AGENT_ARGS="--auto --ndjson"
agent_invoke() { local f="$1"; $AGENT_CLI $AGENT_ARGS - < "$f"; }
_tiny_text() { sed -n 's/^{"type":"assistant","text":"\(.*\)"}$/\1/p'; }
agent_extract_response() { _tiny_text < "$1"; }
agent_format_display() { sed -un 's/^{"type":"assistant","text":"\(.*\)"}$/\1/p'; }
