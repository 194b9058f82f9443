#!/usr/bin/env bash
# Agent for Cline (cline), as a ralph loop sources it.
#
# Settings, from the loop's config or the environment:
#   CLINE_MODEL           model
#   CLINE_CONTEXT_WINDOW  size of the model's context window in tokens, which cline doesn't tell
#   CLINE_ARGS            all arguments in place of those below, split at blanks
#
# With -y cline (3.0.65) asks the model again and again until it calls submit_and_exit, whatever -t says; without -y
# it leaves a daemon behind.
#
# Sets AGENT_CLI, AGENT_ARGS, AGENT_INSTALL and AGENT_ENV_KEYS; agent_post_iteration fills _ITER_CONTEXT_* and
# keeps the session's costs in _CLINE_TOTAL. bash 3.2 (macOS) is enough.
# shellcheck disable=SC2034  # the loop reads the globals

AGENT_CLI="cline"
AGENT_ARGS="${CLINE_ARGS:--y --json}"
AGENT_INSTALL="npm install -g cline"
AGENT_ENV_KEYS=""

# With --json cline insists on a prompt as an argument before it looks at stdin, and joins the two (3.0.65). A blank
# satisfies it and adds nothing: so a prompt may be of any length and begin with a dash. It reads a pipe, but
# overlooks a small file. A program that ends before it has read all is not to blame for what cat says.
agent_invoke() {
    local prompt_file="$1" IFS=$' \t\n'
    (
        set -f
        # shellcheck disable=SC2086  # split at blanks, by convention
        set -- ${AGENT_ARGS:-}
        if [ -n "${CLINE_MODEL:-}" ]; then set -- "$@" --model "$CLINE_MODEL"; fi
        cat | "$AGENT_CLI" "$@" " " || exit "${PIPESTATUS[1]}"
    ) < "$prompt_file"
}

# Events of today, where a text that is complete comes with content_end; and the messages of older versions, which
# come again and again while they are partial.
# run_result repeats the last text, so it is asked for only when there was none.
agent_extract_response() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            objects
            | if .type == "agent_event" then
                  .event | objects | select(.type == "content_end" and .contentType == "text") | .text
              elif .type == "say" then
                  select(.partial != true and (.say == "text" or .say == "completion_result")) | .text
              elif .type == "ask" then
                  select(.partial != true)
                  | select(.ask | . == "completion_result" or . == "followup" or . == "plan_mode_respond") | .text
              else empty end
            | strings | select(. != "")' 2>/dev/null || true
    done < "$1" | grep -a '' ||
        while IFS= read -r line || [ -n "$line" ]; do
            printf '%s\n' "$line" | jq -r '
                objects | select(.type == "run_result" and .finishReason == "completed") | .text
                | strings | select(. != "")' 2>/dev/null || true
        done < "$1"
}

agent_format_display() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            objects
            | if .type == "agent_event" then
                  .event | objects
                  | if .type == "content_end" and .contentType == "text" then .text | strings
                    elif .type == "content_end" and .contentType == "reasoning" then
                        .text // .reasoning | strings | select(. != "") | "[thinking] " + .
                    elif .type == "content_start" and .contentType == "tool" then
                        "[tool] \(.toolName)" + (.input | objects
                            | ": " + (.path // .paths // .command // .commands // .pattern // .query // .url
                                      // .description // .prompt // .
                                      | if type == "array" then map(tostring) | join("; ") else tostring end
                                      | .[0:200]))
                    elif .type == "error" then
                        "[error] " + (.message // (.error | if type == "object" then .message else . end) | tostring)
                    else empty end
              elif .type == "say" and .partial != true then
                  if .say == "text" or .say == "completion_result" then .text | strings
                  elif .say == "reasoning" then .text | strings | select(. != "") | "[thinking] " + .
                  elif .say == "tool" then "[tool] " + (.text | strings | (fromjson? | objects
                      | "\(.tool): \(.path // .command // .query // "" | tostring | .[0:200])") // .[0:200])
                  elif .say == "command" then "[tool] command: " + (.text | strings | .[0:200])
                  elif .say == "error" then "[error] " + (.text | strings)
                  else empty end
              elif .type == "ask" and .partial != true
                   and (.ask | . == "completion_result" or . == "followup" or . == "plan_mode_respond") then
                  .text | strings
              else empty end
            | select(. != "")' 2>/dev/null || true
    done
}

# usage has the tokens of the last request; for some providers those read from a cache are among inputTokens, for
# others they are not. The window is known only from the settings.
agent_post_iteration() {
    local output="${RALPH_DIR:-.}/last_agent_output" IFS=$' \t\n' numbers
    [ -f "$output" ] || return 0
    numbers=$(jq -Rrn '
        reduce (inputs | fromjson? | objects) as $event ({};
            if $event.type == "run_result" then .sum = $event.usage
            elif $event.type == "agent_event" and ($event.event | type) == "object" then
                if $event.event.type == "usage" then .last = $event.event
                elif $event.event.type == "done" then .sum = ($event.event.usage // .sum)
                else . end
            else . end)
        | def n: (numbers // 0) | floor;
          ((.last | objects) // {}) as $last
        | ((.sum | objects) // {totalCost: $last.totalCost, inputTokens: $last.totalInputTokens,
                                outputTokens: $last.totalOutputTokens}) as $sum
        | [$last.cacheReadTokens, $last.cacheWriteTokens | n] as $cached
        | ($last.inputTokens | n) as $in
        | [(($sum.totalCost | numbers) // "-"), ($sum.inputTokens | n), ($sum.outputTokens | n),
           (if $in < ($cached | add) then $in + ($cached | add) else $in end)]
        | map(tostring) | join(" ")' "$output") || true
    case "${numbers#* }" in
        "" | *[!0-9\ ]*) return 0 ;;
    esac
    # shellcheck disable=SC2086  # four words
    set -- $numbers
    if [ "$1" != "-" ]; then
        _CLINE_TOTAL=$(LC_ALL=C awk -v a="${_CLINE_TOTAL:-0}" -v b="$1" 'BEGIN { printf "%.6f", a + b }')
        log "$(LC_ALL=C awk -v total="$_CLINE_TOTAL" -v cost="$1" \
            'BEGIN { printf "Iteration Cost: $%.4f  Total: $%.4f", cost, total }')"
    fi
    if [ "$2$3" != 00 ]; then log "Tokens: $2 in / $3 out"; fi
    _cline_context "$4" "${CLINE_CONTEXT_WINDOW:-0}"
}

# USED WINDOW, in tokens; nothing is known when one of them is 0.
_cline_context() {
    case "$2" in
        "" | *[!0-9]*) return 0 ;;
    esac
    if [ "$1" -eq 0 ] || [ "$2" -eq 0 ]; then return 0; fi
    _ITER_CONTEXT_USED=$1
    _ITER_CONTEXT_MAX=$2
    _ITER_CONTEXT_PCT=$(($1 * 100 / $2))
    log "Context: $1/$2 tokens ($_ITER_CONTEXT_PCT%)"
    if [ "$_ITER_CONTEXT_PCT" -ge "${CONTEXT_WARN_PCT:-80}" ]; then
        log "⚠ Context usage high — agent quality may degrade"
    fi
}
