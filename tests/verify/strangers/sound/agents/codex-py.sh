#!/usr/bin/env bash
# codex exec, parsed by python3 (no jq on our runners)

AGENT_CLI="codex"
AGENT_ARGS="exec --json --sandbox workspace-write"

_codex_py='
import json, sys
display = sys.argv[1] == "display"
for line in sys.stdin:
    try:
        event = json.loads(line)
        item = event.get("item") or {}
        kind = item.get("type")
        if event.get("type") == "item.completed" and kind == "agent_message":
            print(item["text"], flush=True)
        elif display and event.get("type") == "item.started" and kind == "command_execution":
            print("$", item.get("command", ""), flush=True)
    except (ValueError, AttributeError, KeyError, TypeError):
        pass
'

agent_invoke() {
    local prompt_file="$1"
    local -a args
    read -r -a args <<<"$AGENT_ARGS"
    "$AGENT_CLI" "${args[@]}" - <"$prompt_file"
}

agent_extract_response() {
    python3 -c "$_codex_py" response <"$1"
}

agent_format_display() {
    python3 -u -c "$_codex_py" display
}

agent_pre_iteration() {
    _CODEX_PY_STARTED=$(date +%s)
}

agent_post_iteration() {
    log "codex took $(( $(date +%s) - ${_CODEX_PY_STARTED:-0} )) s"
}
