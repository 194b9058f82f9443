"""Breakages by somebody who had read the contract documents only, and none of the checks."""

# ruff: noqa: E501  - one line per mutant

from __future__ import annotations

from . import Mutant

M = Mutant
PATH = '"--prompt" "$prompt_file"'

DRIVERS = [
    M("a function of the loop is replaced", "my-platform", "", 'log_status() { echo "[$1] $2"; }', ("RB009",)),
    M("a builtin is replaced", "my-platform", "", 'cd() { builtin cd "$@" && ls; }', ("RB009",)),
    M(
        "asks the network at load",
        "my-platform",
        "",
        "MY_LATEST=$(curl -fsS --max-time 2 https://my-platform.invalid/latest 2>/dev/null || echo unknown)",
        ("RB012",),
    ),
    M(
        "asks the CLI at load",
        "my-platform",
        "",
        "MY_VERSION=$(my-platform --version 2>/dev/null || true)",
        ("RB012",),
    ),
    M("makes a log at load", "my-platform", "", ": > my-platform.log", ("RB063",)),
    M("makes a temporary file at load", "my-platform", "", "MY_TMP=$(mktemp)", ("RB063",)),
    M(
        "the prompt is copied, and the copy stays",
        "my-platform",
        "    return 0",
        '    cp "$prompt_file" .prompt.tmp\n    return 0',
        ("RB064",),
    ),
    M(
        "the output is cleaned in place",
        "my-platform",
        "",
        'driver_extract_session_id_from_output() { sed -i \'/^$/d\' "$1"; sed -n \'s/.*"session_id":"\\([^"]*\\)".*/\\1/p\' "$1" | head -n 1; }',
        ("RB064",),
    ),
    M(
        "the output is removed",
        "my-platform",
        "",
        'driver_extract_session_id_from_output() { sed -n \'s/.*"session_id":"\\([^"]*\\)".*/\\1/p\' "$1" 2>/dev/null | head -n 1; rm -f "$1"; }',
        ("RB064",),
    ),
    M(
        "the path of the output is written down",
        "my-platform",
        "",
        "driver_extract_session_id_from_output() { jq -r 'select(.session_id) | .session_id' .ralph/logs/output.log 2>/dev/null | head -n 1; }",
        ("RB032",),
    ),
    M(
        "whatever looks like an id",
        "my-platform",
        "",
        "driver_extract_session_id_from_output() { grep -oE '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' \"$1\" 2>/dev/null | head -n 1; }",
        ("RB151",),
    ),
    M(
        "takes all up to the last quote",
        "my-platform",
        "",
        'driver_extract_session_id_from_output() { sed -n \'s/.*"session_id":"\\(.*\\)".*/\\1/p\' "$1" 2>/dev/null | head -n 1; }',
        ("RB150",),
    ),
    M(
        "a sentence in place of a program",
        "my-platform",
        'driver_cli_binary() { echo "my-platform"; }',
        'driver_cli_binary() { which my-platform 2>/dev/null || echo "my-platform not found"; }',
        ("RB072",),
    ),
    M(
        "arguments behind the program",
        "my-platform",
        'driver_cli_binary() { echo "my-platform"; }',
        'driver_cli_binary() { echo "my-platform --yes"; }',
        ("RB072",),
    ),
    M("tools that are files", "my-platform", '"Read"', "*", ("RB078",)),
    M(
        "another answer each time",
        "my-platform",
        "",
        "driver_supports_sessions() { _my_n=$((${_my_n:-0} + 1)); [ $((_my_n % 2)) = 1 ]; }",
        ("RB076",),
    ),
    M(
        "looks for another program",
        "my-platform",
        "command -v my-platform",
        "command -v my-platform-agent",
        ("RB075",),
    ),
    M("headings are left out", "my-platform", PATH, '"-p" "$(grep -v "^#" "$prompt_file")"', ("RB106",)),
    M(
        "the last line is lost",
        "my-platform",
        PATH,
        '"-p" "$(while IFS= read -r l; do printf "%s\\n" "$l"; done < "$prompt_file")"',
        ("RB106",),
    ),
    M(
        "letters are lost",
        "my-platform",
        PATH,
        '"-p" "$(LC_ALL=C tr -cd "\\11\\12\\40-\\176" < "$prompt_file")"',
        ("RB106",),
    ),
    M(
        "prompt of the loop, not of the caller",
        "my-platform",
        PATH,
        '"--prompt" "${PROMPT_FILE:-$prompt_file}"',
        ("RB106",),
    ),
    M("relative paths only", "my-platform", PATH, '"--prompt" "$PWD/$prompt_file"', ("RB106",)),
    M(
        "the context is cut",
        "my-platform",
        '"--context" "$loop_context"',
        '"--context" "${loop_context:0:200}"',
        ("RB107",),
    ),
    M(
        "the context and its option in one",
        "my-platform",
        '"--context" "$loop_context"',
        '"--context $loop_context"',
        ("RB107",),
    ),
    M(
        "the session and its option in one",
        "my-platform",
        '"--session" "$session_id"',
        '"--session $session_id"',
        ("RB109",),
    ),
    M(
        "no context in a resumed session",
        "my-platform",
        '[[ -n "$loop_context" ]]',
        '[[ -n "$loop_context" && -z "$session_id" ]]',
        ("RB107",),
    ),
    M(
        "an assignment as the program",
        "my-platform",
        '"my-platform"\n        "--prompt"',
        '"MY_YES=1" "my-platform"\n        "--prompt"',
        ("RB104",),
    ),
    M("reads the loop's stdin", "my-platform", PATH, '"-p" "$(cat - "$prompt_file")"', ("RB124",)),
]

AGENTS = [
    M("the loop's log is replaced", "claude", "", 'log() { printf "%s\\n" "$*"; }', ("RB009",)),
    M("a variable that nobody sets, at load", "claude", "", 'CLAUDE_EXTRA="$MY_CLAUDE_EXTRA"', ("RB058",)),
    M(
        "a variable that nobody sets, in a hook",
        "claude",
        "",
        'agent_post_iteration() { log "cost $MY_COST"; }',
        ("RB058",),
    ),
    M("an argument that nobody gives", "claude", "", 'agent_pre_iteration() { log "iteration $1"; }', ("RB058",)),
    M("runs in another folder", "claude", '"$AGENT_CLI" -p', 'cd "$HOME" && "$AGENT_CLI" -p', ("RB187",)),
    M(
        "two options in one",
        "claude",
        "-p --output-format stream-json",
        '"-p --output-format" stream-json',
        ("RB188",),
    ),
    M("fails when all is well", "claude", "' >&2)", '\' >&2)\n    [ -n "${CLAUDE_DEBUG:-}" ]', ("RB172",)),
    M("removes the prompt", "claude", "' >&2)", '\' >&2)\n    rm -f "$1"', ("RB064",)),
    M(
        "leaves a copy of the prompt",
        "claude",
        '"$AGENT_CLI" -p',
        'cp "$1" "$(mktemp)"; "$AGENT_CLI" -p',
        ("RB064",),
    ),
    M("gives the events", "claude", ' | jq -r "$_claude_text" 2>/dev/null', "", ("RB177",)),
    M(
        "gives JSON strings",
        "claude",
        'jq -r "$_claude_text" 2>/dev/null',
        'jq "$_claude_text" 2>/dev/null',
        ("RB176",),
    ),
    M("gives it on stderr", "claude", 'jq -r "$_claude_text" 2>/dev/null', 'jq -r "$_claude_text" >&2', ("RB176",)),
    M(
        "never looks at the output that it is given",
        "claude",
        'done <"$1"\n    return 0',
        'done <"${RALPH_DIR:-.}/last_agent_output"\n    return 0',
        ("RB176",),
    ),
    M(
        "a comment of the prompt is left out",
        "claude",
        '--dangerously-skip-permissions < "$1"',
        "--dangerously-skip-permissions < <(sed 's/<!--.*-->//' \"$1\")",
        ("RB171",),
    ),
    M("a figure with a point", "claude", "", "agent_post_iteration() { _ITER_CONTEXT_PCT=12.5; }", ("RB189",)),
    M("a figure with its unit", "claude", "", 'agent_post_iteration() { _ITER_CONTEXT_PCT="12%"; }', ("RB189",)),
]
MUTANTS = [*DRIVERS, *AGENTS]
