# aider says plain text, and that is its response
AGENT_CLI=aider
agent_invoke() { aider --yes-always --no-pretty --no-stream --no-check-update --message-file /dev/stdin < "$1"; }
agent_extract_response() { grep -v -e '^Aider v' -e '^Model:' -e '^Git repo:' -e '^Repo-map:' -- "$1" || :; }
agent_format_display() { cat; }
