"""Breakages of agents."""

# ruff: noqa: E501  - one line per mutant

from __future__ import annotations

from . import Mutant

M = Mutant
INVOKE = 'cat "$prompt_file" | $AGENT_CLI $AGENT_ARGS'
EXTRACT = """jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text' 2>/dev/null || true"""

MUTANTS = [
    M("no AGENT_CLI", "amp", 'AGENT_CLI="amp"', 'AGENT_PROGRAM="amp"', ("RB170",)),
    M("AGENT_CLI empty", "codex", "AGENT_CLI=codex", "AGENT_CLI=", ("RB170",)),
    M("AGENT_CLI with arguments", "amp", 'AGENT_CLI="amp"', 'AGENT_CLI="amp -x"', ("RB170",)),
    M("prompt not passed", "amp", INVOKE, "$AGENT_CLI $AGENT_ARGS </dev/null", ("RB171",)),
    M("first line of the prompt", "amp", INVOKE, 'head -n 1 "$prompt_file" | $AGENT_CLI $AGENT_ARGS', ("RB171",)),
    M("path of the prompt unquoted", "amp", 'cat "$prompt_file"', "cat $prompt_file", ("RB171",)),
    M("prompt read by words", "codex", '<"$1"', "<<<$(echo $(cat \"$1\"))", ("RB171",)),
    M("path as the prompt", "codex", '<"$1"', '<<<"$1"', ("RB171",)),
    M("prompt evaluated", "codex", '<"$1"', '<<<"$(eval "echo \\"$(head -n 1 "$1")\\"")"', ("RB171",)),
    M("another program", "amp", INVOKE, 'cat "$prompt_file" | no-such-amp $AGENT_ARGS', ("RB171",)),
    M("status lost", "amp", INVOKE, f"{INVOKE} || true", ("RB172",)),
    M("status of something else", "codex", '<"$1"; }', '<"$1"; sync_done=yes; }', ("RB172",)),
    M("stderr thrown away", "amp", INVOKE, f"{INVOKE} 2>/dev/null", ("RB173",)),
    M("stderr into the output", "codex", '<"$1"; }', '<"$1" 2>&1; }', ("RB173",)),
    M("output filtered", "amp", INVOKE, INVOKE + " | grep --line-buffered '^{'", ("RB174",)),
    M("a line added", "codex", '{ "$AGENT_CLI"', '{ echo "starting"; "$AGENT_CLI"', ("RB174",)),
    M("output thrown away", "amp", INVOKE, f"{INVOKE} >/dev/null", ("RB174",)),
    M("output collected", "amp", INVOKE, f'local all s; all=$({INVOKE}; exit $?); s=$?; printf "%s\\n" "$all"; return $s', ("RB175",)),
    M("output through a file", "codex", '<"$1"; }', '<"$1" >"$1.out"; local s=$?; cat "$1.out"; return $s; }', ("RB175",)),
    M("output in blocks", "claude", "        2> >(grep", "        | sed '' 2> >(grep", ("RB175",)),
    M("response of another shape", "amp", f'    while IFS= read -r line; do\n        echo "$line" | {EXTRACT}', '    while IFS= read -r line; do\n        echo "$line" | jq -r \'select(.type=="message") | .text\' 2>/dev/null || true',
      ("RB176",)),
    M("response on one line", "codex", "| .text' \"$1\"", "| .text | gsub(\"\\n\"; \" \")' \"$1\"", ("RB176",)),
    M("response of a line without quotes", "agents/codex", """printf '%s\\n' "$line" | jq -r '\n            objects\n            | if .type == "item.completed" then\n                  .item | objects | select(""",
      """echo $line | jq -r '\n            objects\n            | if .type == "item.completed" then\n                  .item | objects | select(""", ("RB176",)),
    M("display of a line without quotes", "agents/codex", """printf '%s\\n' "$line" | jq -r '\n            objects\n            | if .type == "item.completed" then\n                  .item | objects | (""",
      """echo ${line} | jq -r '\n            objects\n            | if .type == "item.completed" then\n                  .item | objects | (""", ("RB181",)),
    M("response with thoughts of today", "agents/codex", 'select((.type // .item_type) | . == "agent_message"', 'select((.type // .item_type) | . == "reasoning" or . == "agent_message"', ("RB177",)),
    M("line as a format", "agents/codex", """printf '%s\\n' "$line" | jq -r '""", """printf "$line\\n" | jq -r '""", ("RB176",)),
    M("last line of the last message", "agents/codex", """done < "$1" | grep -a '' ||""", """done < "$1" | tail -n 1 ||""", ("RB176",)),
    M("response is the file", "amp", '    while IFS= read -r line; do\n        echo "$line" | jq -r \'select(.type=="assistant") | .message.content[] | select',
      '    cat "$output_file"; while IFS= read -r line; do\n        echo "$line" | jq -r \'select(.type=="assistant") | .message.content[] | select', ("RB177",)),
    M("response with thoughts", "codex", 'select(.type == "agent_message") | .text\' "$1"', 'select(.type == "agent_message" or .type == "reasoning") | .text\' "$1"', ("RB177",)),
    M("response with the prompt", "amp", 'select(.type=="assistant") | .message.content[] | select', 'select(.type=="assistant" or .type=="user") | .message.content[] | select', ("RB177",)),
    M("response with tools", "amp", 'select(.type=="text") | .text', 'if .type=="tool_use" then "[tool] " + .name elif .type=="text" then .text else empty end', ("RB177",)),
    M("whole file through jq", "codex", "jq -R -r 'fromjson? | objects |", "jq -r '", ("RB178",)),
    M("stops at a bad line", "amp", f'{EXTRACT}\n    done < ', f'{EXTRACT.removesuffix(" || true")} || return 1\n    done < ', ("RB178",)),
    M("bad lines shown", "codex", "jq -R -r 'fromjson? | objects |", "grep -v '^{' \"$1\"; jq -R -r 'fromjson? | objects |", ("RB178",)),
    M("last line without newline", "claude", 'while IFS= read -r line || [ -n "$line" ]; do', "while IFS= read -r line; do", ("RB179",)),
    M("a heading", "claude", '    [[ -f "$1" ]] || return 1\n', '    echo "Response:"\n', ("RB180",)),
    M("words for a missing file", "claude", '|| return 1', '|| { echo "no output"; return 1; }', ("RB180",)),
    M("display of nothing", "codex", "agent_format_display() {\n", "agent_format_display() {\n    cat >/dev/null; return\n", ("RB181",)),
    M("display of another shape", "codex", 'if .type == "item.completed" and .item.type == "agent_message" then .item.text', 'if .type == "message" then .text', ("RB181",)),
    M("display in blocks", "claude", "jq --unbuffered -R", "jq -R", ("RB182",)),
    M("display collects", "codex", "    local line\n    while", '    local line all; all=$(cat)\n    printf "%s\\n" "$all" | while', ("RB182",)),
    M("display sorted", "claude", '_claude_text"\n}', '_claude_text" | cat -n | sed "s/^ *[0-9]*\\t//"\n}', ("RB182",)),
    M("display dies", "claude", 'jq --unbuffered -R -r "fromjson? | objects | $_claude_text"', 'jq --unbuffered -r "$_claude_text"', ("RB183",)),
    M("display stops at a bad line", "codex", '<<<"$line" 2>/dev/null || :', '<<<"$line" 2>/dev/null || return', ("RB183",)),
    M("display stops at an empty line", "codex", 'while IFS= read -r line || [[ -n "$line" ]]; do\n        jq -r \'if', 'while IFS= read -r line && [[ -n "$line" ]]; do\n        jq -r \'if', ("RB183",)),
    M("pre fails", "amp", "agent_pre_iteration() {", "agent_pre_iteration() {\n    [[ -n x ]] && return 1", ("RB184",)),
    M("post ends with a condition", "claude", 'log "one more run of $AGENT_CLI"', '[[ -n "${NO_SUCH:-}" ]] && log "x"', ("RB184",)),
    M("balance is local", "amp", "    _BALANCE_BEFORE=$(", "    local _BALANCE_BEFORE=$(", ("RB185",)),
    M("pre in a subshell", "amp", "agent_pre_iteration() {\n    _BALANCE_BEFORE=$(amp usage 2>/dev/null | grep -o '\\$[0-9.]*' | head -1 | tr -d '$')\n}",
      "agent_pre_iteration() (\n    _BALANCE_BEFORE=$(amp usage 2>/dev/null | grep -o '\\$[0-9.]*' | head -1 | tr -d '$')\n)", ("RB185",)),
]  # fmt: skip
