#!/usr/bin/env bash
# A Stop hook of bash and jq that does what `ralph-bridge stop-hook` does for a turn without the promise: whose session,
# the promise, fatal, the breaker's fingerprint, progress.txt, checkpoint, state, the decision. For the benchmark.
set -uo pipefail
state=.claude/ralph-state.json
input=$(cat)
[ -f "$state" ] || exit 0
session=$(jq -r '.session_id // ""' <<<"$input")
owner=$(jq -r '.session_id // ""' "$state")
[ -z "$owner" ] || [ "$owner" = "$session" ] || exit 0
message=$(jq -r '.last_assistant_message // ""' <<<"$input")
promise=$(jq -r '.completion_promise' "$state")
iteration=$(($(jq -r '.iteration' "$state") + 1))
max=$(jq -r '.max_iterations' "$state")
idle=$(jq -r '.breaker.no_change_count // 0' "$state")
last=$(jq -r '.tree // ""' "$state")

finish() {
    jq --arg outcome "$1" --argjson iteration "$iteration" '.outcome = $outcome | .iteration = $iteration' \
        "$state" >"$state.tmp" && mv "$state.tmp" "$state"
    jq -n --arg told "$2" '{systemMessage: $told}'
    exit 0
}

case $message in *"<promise>$promise</promise>"*) finish complete "complete after $iteration iterations" ;; esac
case $message in *"<fatal>"*) finish fatal "fatal" ;; esac
error=$(grep -m1 -E '^(Error|error|ERROR):' <<<"$message" | sed -E 's/[0-9]+/N/g' || true)
head=$(git rev-parse HEAD)
tree=$(git status --porcelain --untracked-files=all -- ':/' ':(exclude)progress.txt' ':(exclude).claude' |
    cut -c4- | while IFS= read -r path; do sha256sum "$path" 2>/dev/null; done | sha256sum | cut -d' ' -f1)
if [ "$head $tree" = "$last" ]; then idle=$((idle + 1)); else idle=0; fi
[ "$idle" -lt 3 ] || finish no_file_changes "no file changes in $idle turns"
[ "$iteration" -lt "$max" ] || finish max_iterations "maximum iterations reached"
left=$(grep -c '^- \[ \]' fix_plan.md || true)
if ! grep -q "^## Iteration $iteration " progress.txt 2>/dev/null; then
    printf '\n## Iteration %s - %s\n\n### Completed\n- None\n' "$iteration" "$(date -u +%FT%TZ)" >>progress.txt
fi
if [ -n "$(git status --porcelain -- ':/' ':(exclude)progress.txt' ':(exclude).claude')" ]; then
    git add -A && git commit -qm "ralph: checkpoint iteration $iteration"
    head=$(git rev-parse HEAD)
fi
jq --argjson iteration "$iteration" --argjson idle "$idle" --argjson left "$left" --arg session "$session" \
    --arg tree "$head $tree" --arg error "$error" '.iteration = $iteration | .session_id = $session | .tree = $tree
    | .remaining_items = $left | .breaker.no_change_count = $idle | .breaker.last_error = $error' \
    "$state" >"$state.tmp" && mv "$state.tmp" "$state"
jq -n --rawfile prompt PROMPT.md --arg told "iteration $((iteration + 1)) of $max" \
    '{decision: "block", reason: $prompt, systemMessage: $told}'
