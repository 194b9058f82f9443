#!/usr/bin/env bash
# gemini for ralph. jq isn't on our images, python3 is.

AGENT_CLI="gemini"
AGENT_ARGS="--yolo --output-format stream-json"

agent_invoke() {
    $AGENT_CLI $AGENT_ARGS < "$1"
}

_GEMINI_READER='
import json, sys
show_tools = len(sys.argv) > 1
sys.stdout.reconfigure(encoding="utf-8", errors="replace")
for raw in sys.stdin.buffer:
    try:
        event = json.loads(raw.decode("utf-8", "replace"))
    except ValueError:
        continue
    if not isinstance(event, dict):
        continue
    if event.get("type") == "message" and event.get("role") == "assistant":
        sys.stdout.write(str(event.get("content") or ""))
    elif event.get("type") == "tool_use" and show_tools:
        sys.stdout.write("\n[tool] %s\n" % event.get("tool_name"))
    elif event.get("type") == "result":
        sys.stdout.write("\n")
    sys.stdout.flush()
'

agent_extract_response() { python3 -c "$_GEMINI_READER" < "$1"; }

agent_format_display() { python3 -c "$_GEMINI_READER" tools; }
