#!/usr/bin/env bash
# Agent for OpenAI Codex (codex), as a ralph loop sources it.
#
# Settings, from the loop's config or the environment:
#   CODEX_MODEL    model, such as gpt-5.5
#   CODEX_SANDBOX  read-only, workspace-write (the default) or danger-full-access
#   CODEX_ARGS     all arguments in place of those below, split at blanks
#
# In workspace-write the network is closed and .git is read-only: codex works there but can't commit (measured
# with 0.169). When it is the agent that commits, and something else confines it, a container for example, set
# CODEX_SANDBOX=danger-full-access.
#
# Sets AGENT_CLI, AGENT_ARGS, AGENT_INSTALL and AGENT_ENV_KEYS; agent_post_iteration keeps _CODEX_THREAD,
# _CODEX_IN and _CODEX_OUT, and fills _ITER_CONTEXT_* for versions that tell. bash 3.2 (macOS) is enough.
# shellcheck disable=SC2034  # the loop reads the globals

AGENT_CLI="codex"
AGENT_ARGS="exec --json --sandbox ${CODEX_SANDBOX:-workspace-write}"
AGENT_ARGS="${CODEX_ARGS:-$AGENT_ARGS}"
AGENT_INSTALL="npm install -g @openai/codex"
AGENT_ENV_KEYS="CODEX_API_KEY OPENAI_API_KEY"

# The last argument says that the prompt is on stdin.
agent_invoke() {
    local prompt_file="$1" IFS=$' \t\n'
    (
        set -f
        # shellcheck disable=SC2086  # split at blanks, by convention
        set -- ${AGENT_ARGS:-}
        if [ -n "${CODEX_MODEL:-}" ]; then set -- "$@" --model "$CODEX_MODEL"; fi
        "$AGENT_CLI" "$@" -
    ) < "$prompt_file"
}

# Items of today; for a time they had item_type instead of type; before, there were messages in an envelope.
# The older versions' task_complete repeats the last message, so it is asked for only when there was none.
agent_extract_response() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            objects
            | if .type == "item.completed" then
                  .item | objects | select((.type // .item_type) | . == "agent_message" or . == "assistant_message")
                  | .text // (.content | strings, (arrays | .[] | objects | .text))
              else .msg | objects | select(.type == "agent_message") | .message end
            | strings | select(. != "")' 2>/dev/null || true
    done < "$1" | grep -a '' ||
        while IFS= read -r line || [ -n "$line" ]; do
            printf '%s\n' "$line" | jq -r '
                objects | .msg | objects | select(.type == "task_complete") | .last_agent_message
                | strings | select(. != "")' 2>/dev/null || true
        done < "$1"
}

agent_format_display() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            objects
            | if .type == "item.completed" then
                  .item | objects | (.type // .item_type) as $type
                  | if $type == "agent_message" or $type == "assistant_message" then
                        .text // (.content | strings, (arrays | .[] | objects | .text)) | strings
                    elif $type == "reasoning" then .text | strings | select(. != "") | "[thinking] " + .
                    elif $type == "file_change" then
                        "[tool] file_change: " + ([.changes | arrays | .[] | objects | .path | strings] | join(", "))
                    elif $type == "error" then "[error] \(.message)"
                    else empty end
              elif .type == "item.started" then
                  .item | objects | (.type // .item_type) as $type
                  | select($type | . == "command_execution" or . == "mcp_tool_call" or . == "web_search")
                  | "[tool] \($type): " + (.command // .query // ([.server, .tool | strings] | join("."))
                                           | tostring | .[0:200])
              elif .type == "error" then "[error] \(.message)"
              elif .type == "turn.failed" then
                  "[error] turn failed: " + (.error | if type == "object" then .message else . end | tostring)
              else
                  .msg | objects
                  | if .type == "agent_message" then .message | strings
                    elif .type == "agent_reasoning" then .text | strings | select(. != "") | "[thinking] " + .
                    elif .type == "exec_command_begin" then
                        "[tool] exec_command: "
                        + (.command | if type == "array" then map(tostring) | join(" ") else tostring end | .[0:200])
                    elif .type == "error" then "[error] \(.message)"
                    else empty end
              end
            | select(. != "")' 2>/dev/null || true
    done
}

# turn.completed counts from the beginning of its thread, so a thread that is resumed is counted once. It doesn't
# tell how full the context is; the token_count messages of older versions do.
agent_post_iteration() {
    local output="${RALPH_DIR:-.}/last_agent_output" IFS=$' \t\n' numbers
    [ -f "$output" ] || return 0
    numbers=$(jq -Rrn '
        reduce (inputs | fromjson? | objects) as $event ({};
            if $event.type == "thread.started" then .thread = $event.thread_id
            elif $event.type == "turn.completed" then .usage = $event.usage
            elif ($event.msg | type) == "object" and $event.msg.type == "token_count" then
                .info = ($event.msg.info // .info)
            else . end)
        | ((.info | objects) // {}) as $info
        | (((.usage // $info.total_token_usage) | objects) // {}) as $sum
        | [((.thread | strings | select(test("^[0-9A-Za-z_.:-]+$"))) // "-"),
           ($sum.input_tokens, $sum.output_tokens, ($info.last_token_usage | objects // {} | .input_tokens),
            $info.model_context_window | (numbers // 0) | floor)]
        | map(tostring) | join(" ")' "$output") || true
    case "${numbers#* }" in
        "" | *[!0-9\ ]*) return 0 ;;
    esac
    # shellcheck disable=SC2086  # five words
    set -- $numbers
    _codex_tokens "$1" "$2" "$3"
    _codex_context "$4" "$5"
}

# THREAD INPUT OUTPUT: what the thread has used so far, in tokens.
_codex_tokens() {
    local in="$2" out="$3"
    if [ "$1" = "${_CODEX_THREAD:-}" ] && [ "$in" -ge "$_CODEX_IN" ] && [ "$out" -ge "$_CODEX_OUT" ]; then
        in=$((in - _CODEX_IN))
        out=$((out - _CODEX_OUT))
    fi
    if [ "$1" != "-" ]; then _CODEX_THREAD=$1 _CODEX_IN=$2 _CODEX_OUT=$3; fi
    if [ "$in$out" != 00 ]; then log "Tokens: $in in / $out out"; fi
}

# USED WINDOW, in tokens; nothing is known when one of them is 0.
_codex_context() {
    if [ "$1" -eq 0 ] || [ "$2" -eq 0 ]; then return 0; fi
    _ITER_CONTEXT_USED=$1
    _ITER_CONTEXT_MAX=$2
    _ITER_CONTEXT_PCT=$(($1 * 100 / $2))
    log "Context: $1/$2 tokens ($_ITER_CONTEXT_PCT%)"
    if [ "$_ITER_CONTEXT_PCT" -ge "${CONTEXT_WARN_PCT:-80}" ]; then
        log "⚠ Context usage high — agent quality may degrade"
    fi
}
