#!/usr/bin/env bash
# Agent for Amp (amp), as a ralph loop sources it.
#
# Settings, from the loop's config or the environment:
#   AMP_MODE   mode of the agent: low, medium, high, ultra
#   AMP_ARGS   all arguments in place of those below, split at blanks
#
# Sets AGENT_CLI, AGENT_ARGS, AGENT_INSTALL and AGENT_ENV_KEYS; the hooks around an iteration keep
# _AMP_BALANCE_BEFORE and fill _ITER_CONTEXT_*. bash 3.2 (macOS) is enough.
# shellcheck disable=SC2034  # the loop reads the globals

AGENT_CLI="amp"
AGENT_ARGS="${AMP_ARGS:--x --dangerously-allow-all --stream-json-thinking}"
AGENT_INSTALL="npm install -g @ampcode/cli"
AGENT_ENV_KEYS="AMP_API_KEY"

agent_invoke() {
    local prompt_file="$1" IFS=$' \t\n'
    (
        set -f
        # shellcheck disable=SC2086  # split at blanks, by convention
        set -- ${AGENT_ARGS:-}
        if [ -n "${AMP_MODE:-}" ]; then set -- "$@" --mode "$AMP_MODE"; fi
        "$AGENT_CLI" "$@"
    ) < "$prompt_file"
}

# What a sub-agent says is the output of a tool, and doesn't count.
# The result repeats the last text, so it is asked for only when there was none.
agent_extract_response() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            objects | select(.type == "assistant" and (.parent_tool_use_id // "") == "") | .message | objects
            | .content | strings, (arrays | .[] | objects | select(.type == "text") | .text | strings)
            | select(. != "")' 2>/dev/null || true
    done < "$1" | grep -a '' ||
        while IFS= read -r line || [ -n "$line" ]; do
            printf '%s\n' "$line" | jq -r '
                objects | select(.type == "result" and .is_error != true) | .result
                | strings | select(. != "")' 2>/dev/null || true
        done < "$1"
}

agent_format_display() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            objects
            | if .type == "assistant" then
                  .message | objects | .content
                  | strings,
                    (arrays | .[] | objects
                     | if .type == "text" then .text | strings
                       elif .type == "thinking" then .thinking | strings | select(. != "") | "[thinking] " + .
                       elif .type == "tool_use" then
                           "[tool] \(.name)" + (.input | objects
                               | ": " + (.path // .cmd // .filePattern // .pattern // .query // .url
                                         // .description // .prompt // . | tostring | .[0:200]))
                       else empty end)
              elif .type == "result" and .is_error == true then
                  "[error] \(.error // .result // .subtype)"
              else empty end
            | select(. != "")' 2>/dev/null || true
    done
}

agent_pre_iteration() {
    _AMP_BALANCE_BEFORE=$(_amp_balance)
}

agent_post_iteration() {
    local balance cost
    balance=$(_amp_balance)
    if [ -n "$balance" ] && [ -n "${_AMP_BALANCE_BEFORE:-}" ]; then
        cost=$(LC_ALL=C awk -v was="$_AMP_BALANCE_BEFORE" -v is="$balance" 'BEGIN { printf "%.2f", was - is }')
        log "Iteration Cost: \$${cost}  Balance: \$${balance}"
    fi
    _amp_context
}

# The first amount of money that `amp usage` names, without sign and thousands' commas; empty when there is none.
_amp_balance() {
    "$AGENT_CLI" usage < /dev/null | grep -oE '\$[0-9][0-9,]*(\.[0-9]+)?' | head -n 1 | tr -d '$,' || true
}

# How full the context was when the last message was written: all that went in, of the most that may.
_amp_context() {
    local output="${RALPH_DIR:-.}/last_agent_output" numbers
    [ -f "$output" ] || return 0
    numbers=$(jq -Rrn '
        reduce (inputs | fromjson? | objects | select(.type == "assistant" and (.parent_tool_use_id // "") == "")
                | .message | objects | .usage | objects) as $usage (null; $usage) | objects
        | [.input_tokens, .cache_creation_input_tokens, .cache_read_input_tokens | numbers] as $in
        | "\($in | add // 0 | floor) \(.max_tokens | numbers | floor)"' "$output") || true
    case "$numbers" in
        *[!0-9\ ]* | "" | *\ 0) return 0 ;;
    esac
    _ITER_CONTEXT_USED=${numbers% *}
    _ITER_CONTEXT_MAX=${numbers#* }
    _ITER_CONTEXT_PCT=$((_ITER_CONTEXT_USED * 100 / _ITER_CONTEXT_MAX))
    log "Context: $_ITER_CONTEXT_USED/$_ITER_CONTEXT_MAX tokens ($_ITER_CONTEXT_PCT%)"
    if [ "$_ITER_CONTEXT_PCT" -ge "${CONTEXT_WARN_PCT:-80}" ]; then
        log "⚠ Context usage high — agent quality may degrade"
    fi
}
