#!/usr/bin/env bash
# Gemini CLI; two little python programs in here-documents

AGENT_CLI="gemini"
AGENT_ARGS="--output-format stream-json --approval-mode yolo --skip-trust"

agent_invoke() {
    local prompt_file="$1"
    GEMINI_CLI_NO_RELAUNCH=true $AGENT_CLI $AGENT_ARGS <"$prompt_file"
}

agent_extract_response() {
    python3 - "$1" <<'PY'
import json
import sys

parts = []
with open(sys.argv[1], encoding="utf-8", errors="replace") as output:
    for line in output:
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(event, dict):
            continue
        if event.get("type") == "message" and event.get("role") == "assistant":
            parts.append(event.get("content") or "")
print("".join(parts))
PY
}

agent_format_display() {
    python3 -u -c "$(cat <<'PY'
import json
import sys

for line in sys.stdin:
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        continue
    if not isinstance(event, dict):
        continue
    if event.get("type") == "message" and event.get("role") == "assistant":
        sys.stdout.write(event.get("content") or "")
    elif event.get("type") == "tool_use":
        sys.stdout.write("\n[tool] %s\n" % event.get("tool_name"))
    elif event.get("type") == "result":
        sys.stdout.write("\n")
PY
    )"
}
