#!/usr/bin/env bash
# GitHub Copilot CLI, JSON lines. Since 1.0: --output-format json; stdin is the prompt when there is no -p.

AGENT_CLI="copilot"
AGENT_ARGS="--yolo --no-ask-user --autopilot --max-autopilot-continues 20 --output-format json"

agent_invoke() {
    local prompt_file=$1
    set -- $AGENT_ARGS
    "$AGENT_CLI" "$@" <"$prompt_file"
}

read -r -d '' _COPILOT_JQ <<'JQ' || true
def said: select(.type == "assistant.message") | .data.content? | strings | select(. != "");
def summary: select(.type == "session.task_complete") | .data.summary? | strings;
def tool: select(.type == "tool.execution_start") | "[tool] \(.data.toolName? // "?")";
JQ

agent_extract_response() {
    local output_file="$1" event
    while IFS= read -r event || [ -n "$event" ]; do
        printf '%s' "$event" | jq -r "$_COPILOT_JQ said, summary" 2>/dev/null
    done <"$output_file"
    return 0
}

agent_format_display() {
    local event
    while IFS= read -r event || [ -n "$event" ]; do
        printf '%s' "$event" | jq -r "$_COPILOT_JQ said, tool" 2>/dev/null || continue
    done
}
