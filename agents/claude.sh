#!/usr/bin/env bash
# Agent for Claude Code (claude), as a ralph loop sources it.
#
# Settings, from the loop's config or the environment:
#   CLAUDE_MODEL            model, such as opus
#   CLAUDE_PERMISSION_MODE  what it may do without asking, which nobody could answer. Default: bypassPermissions.
#                           As root claude refuses that outside of a sandbox (IS_SANDBOX=1 says that it is in
#                           one); the default for root is acceptEdits with the tools of CLAUDE_ALLOWED_TOOLS.
#   CLAUDE_ALLOWED_TOOLS    tools that it may use in any case, separated by commas
#   CLAUDE_ARGS             all arguments in place of those below, split at blanks
#
# Sets AGENT_CLI, AGENT_ARGS, AGENT_INSTALL and AGENT_ENV_KEYS; agent_post_iteration fills _ITER_CONTEXT_* and
# keeps the session's costs in _CLAUDE_TOTAL. bash 3.2 (macOS) is enough.
# shellcheck disable=SC2034  # the loop reads the globals

AGENT_CLI="claude"
AGENT_INSTALL="npm install -g @anthropic-ai/claude-code"
AGENT_ENV_KEYS="ANTHROPIC_API_KEY CLAUDE_CODE_OAUTH_TOKEN"

# Without --verbose claude refuses to print a stream of events.
AGENT_ARGS="-p --verbose --output-format stream-json"
if [ -n "${CLAUDE_PERMISSION_MODE:-}" ]; then
    AGENT_ARGS="$AGENT_ARGS --permission-mode $CLAUDE_PERMISSION_MODE"
elif [ "$EUID" -ne 0 ] || [ "${IS_SANDBOX:-}" = 1 ]; then
    AGENT_ARGS="$AGENT_ARGS --permission-mode bypassPermissions"
else
    AGENT_ARGS="$AGENT_ARGS --permission-mode acceptEdits"
    if [ -z "${CLAUDE_ALLOWED_TOOLS:-}" ]; then
        AGENT_ARGS="$AGENT_ARGS --allowedTools Agent,Bash,Edit,Glob,Grep,ListAgents,Monitor,NotebookEdit,Read"
        AGENT_ARGS="$AGENT_ARGS,Skill,Task,TaskOutput,TaskStop,ToolSearch,WebFetch,WebSearch,Workflow,Write"
    fi
fi
AGENT_ARGS="${CLAUDE_ARGS:-$AGENT_ARGS}"

agent_invoke() {
    local prompt_file="$1" IFS=$' \t\n'
    (
        set -f
        # shellcheck disable=SC2086  # split at blanks, by convention
        set -- ${AGENT_ARGS:-}
        if [ -n "${CLAUDE_ALLOWED_TOOLS:-}" ]; then set -- "$@" --allowedTools "$CLAUDE_ALLOWED_TOOLS"; fi
        if [ -n "${CLAUDE_MODEL:-}" ]; then set -- "$@" --model "$CLAUDE_MODEL"; fi
        "$AGENT_CLI" "$@"
    ) < "$prompt_file"
}

# What a sub-agent says is the output of a tool, and <synthetic> messages are claude's own: neither counts.
# With --output-format json all events are one array.
# The result repeats the last text, so it is asked for only when there was none.
agent_extract_response() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            (arrays | .[]), . | objects
            | select(.type == "assistant" and (.parent_tool_use_id // "") == "") | .message | objects
            | select(.model != "<synthetic>")
            | .content | strings, (arrays | .[] | objects | select(.type == "text") | .text | strings)
            | select(. != "")' 2>/dev/null || true
    done < "$1" | grep -a '' ||
        while IFS= read -r line || [ -n "$line" ]; do
            printf '%s\n' "$line" | jq -r '
                (arrays | .[]), . | objects
                | select(.type == "result" and .is_error != true) | .result | strings | select(. != "")' 2>/dev/null || true
        done < "$1"
}

agent_format_display() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" | jq -r '
            (arrays | .[]), . | objects
            | if .type == "assistant" then
                  .message | objects | .content
                  | strings,
                    (arrays | .[] | objects
                     | if .type == "text" then .text | strings
                       elif .type == "thinking" then .thinking | strings | select(. != "") | "[thinking] " + .
                       elif .type == "tool_use" then
                           "[tool] \(.name)" + (.input | objects
                               | ": " + (.file_path // .notebook_path // .path // .command // .pattern // .query // .url
                                         // .description // .prompt // . | tostring | .[0:200]))
                       else empty end)
              elif .type == "result" and .is_error == true then
                  "[error] \(.result // .errors // .subtype)"
              else empty end
            | select(. != "")' 2>/dev/null || true
    done
}

# What the iteration cost, and how full the context was when the last message was written: all that went in. The
# window is that of the message's own model: sub-agents may use another.
agent_post_iteration() {
    local output="${RALPH_DIR:-.}/last_agent_output" numbers cost
    [ -f "$output" ] || return 0
    numbers=$(jq -Rrn '
        reduce (inputs | fromjson? | (arrays | .[]), . | objects) as $event ({};
            if $event.type == "result" then .result = $event
            elif $event.type == "assistant" and ($event.parent_tool_use_id // "") == ""
                 and ($event.message | type) == "object" and $event.message.model != "<synthetic>"
            then .message = $event.message else . end)
        | ((.message.model | strings) // "") as $model
        | [.result.modelUsage | objects | to_entries[]
           | select(.value | objects | .contextWindow | numbers)] as $models
        | [(.message.usage // .result.usage) | objects
           | .input_tokens, .cache_creation_input_tokens, .cache_read_input_tokens | numbers] as $in
        | [((.result.total_cost_usd | numbers) // "-"), ($in | add // 0 | floor),
           ([($models[] | select($model != "" and (.key | startswith($model)))),
             ($models | sort_by(-.value.contextWindow) | .[])] | .[0].value.contextWindow // 0 | floor)]
        | map(tostring) | join(" ")' "$output") || true
    cost=${numbers%% *}
    case "$cost" in
        "" | -) ;;
        *)
            _CLAUDE_TOTAL=$(LC_ALL=C awk -v a="${_CLAUDE_TOTAL:-0}" -v b="$cost" 'BEGIN { printf "%.6f", a + b }')
            log "$(LC_ALL=C awk -v total="$_CLAUDE_TOTAL" -v cost="$cost" \
                'BEGIN { printf "Iteration Cost: $%.4f  Total: $%.4f", cost, total }')"
            ;;
    esac
    _claude_context "${numbers#* }"
}

# "USED WINDOW", each in tokens; nothing is known when one of them is 0.
_claude_context() {
    case "$1" in
        *[!0-9\ ]* | "" | 0\ * | *\ 0) return 0 ;;
    esac
    _ITER_CONTEXT_USED=${1% *}
    _ITER_CONTEXT_MAX=${1#* }
    _ITER_CONTEXT_PCT=$((_ITER_CONTEXT_USED * 100 / _ITER_CONTEXT_MAX))
    log "Context: $_ITER_CONTEXT_USED/$_ITER_CONTEXT_MAX tokens ($_ITER_CONTEXT_PCT%)"
    if [ "$_ITER_CONTEXT_PCT" -ge "${CONTEXT_WARN_PCT:-80}" ]; then
        log "⚠ Context usage high — agent quality may degrade"
    fi
}
