#!/usr/bin/env bash
# Claude Code; the parsing is done by one python process per stage instead of a jq per line.

AGENT_CLI="claude"

_claude_py='
import json, sys

def blocks(line):
    try:
        event = json.loads(line)
    except ValueError:
        return
    if not isinstance(event, dict) or event.get("type") != "assistant":
        return
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict):
                yield block

mode = sys.argv[1]
for raw in iter(sys.stdin.buffer.readline, b""):
    for block in blocks(raw.decode("utf-8", "replace")):
        if block.get("type") == "text":
            text = str(block.get("text") or "")
        elif mode == "display" and block.get("type") == "tool_use":
            text = "[tool] %s" % block.get("name")
        else:
            continue
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
'

agent_invoke() {
    local prompt_file="$1"
    IS_SANDBOX=1 "$AGENT_CLI" --print --verbose --output-format stream-json --dangerously-skip-permissions < "$prompt_file"
}

agent_extract_response() {
    python3 -c "$_claude_py" response < "$1"
}

agent_format_display() {
    python3 -c "$_claude_py" display
}
