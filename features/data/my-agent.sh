#!/usr/bin/env bash
# Agent for My Agent: a ralph loop sources this file and calls its functions, in the pipeline
#   agent_invoke PROMPT_FILE | tee OUTPUT | agent_format_display, and then agent_extract_response OUTPUT
#
# To adapt it: the arguments of your CLI, and the shape of the events that it prints, one JSON document per line.
# `ralph-bridge explain agent_format_display` says what a hook has to do, `ralph-bridge verify` whether it does.
# Nothing newer than bash 3.2, which macOS has. The loop runs with `set -euo pipefail`.
# shellcheck disable=SC2034  # the loop reads AGENT_CLI

AGENT_CLI="my-agent"
AGENT_ARGS="--auto-approve --output json-lines" # split at blanks; nobody is there to answer questions

# The prompt goes to stdin: it may be longer than an argument can be. The CLI's status and stderr are the hook's.
agent_invoke() {
    # shellcheck disable=SC2086  # split at blanks, by convention
    "$AGENT_CLI" ${AGENT_ARGS:-} < "$1"
}

# What the agent itself said, and nothing else. Line by line: a line that is no JSON costs that line alone.
agent_extract_response() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r 'select(.type == "assistant") | .text' 2>/dev/null || true
    done < "$1"
}

# What people want to see, each line before the next one arrives.
agent_format_display() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            if .type == "assistant" then .text
            elif .type == "tool" then "[tool] " + .name
            else empty end' 2>/dev/null || true
    done
}
