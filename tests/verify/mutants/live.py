"""Breakages of live mode, of session recovery and of the capability matrix."""

# ruff: noqa: E501  - one line per mutant

from __future__ import annotations

from . import Mutant

M = Mutant
CLAUDE, CODEX, OPENCODE, CURSOR, COPILOT = (
    f"drivers/{name}" for name in ("claude-code", "codex", "opencode", "cursor", "copilot")
)
SHELLED, SEEKER, LEAN, ASKING, HOMELY = "shelled", "seeker", "claude-lean", "asking", "homely"
COPY = 'LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})'

MUTANTS = [
    M("live is local", CODEX, f"    {COPY}", f"    local {COPY}", ("RB130",)),
    M("live without the CLI", CODEX, COPY, 'LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]:1}")', ("RB130",)),
    M("live fails", OPENCODE, COPY, f"{COPY}\n    false", ("RB130",)),
    M("live changes the command", SHELLED, 'LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" --stream)', 'CLAUDE_CMD_ARGS+=(--stream); LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")',
      ("RB131",)),
    M("live empties the command", CODEX, COPY, f"{COPY}; CLAUDE_CMD_ARGS=()", ("RB131",)),
    M("live unquoted", CODEX, COPY, "LIVE_CMD_ARGS=(${CLAUDE_CMD_ARGS[@]})", ("RB132",)),
    M("live replaces json in texts", SHELLED, '("${CLAUDE_CMD_ARGS[@]}" --stream)', '("${CLAUDE_CMD_ARGS[@]//json/stream-json}" --stream)', ("RB132",)),
    M("live drops the last", CODEX, COPY, 'LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]:0:${#CLAUDE_CMD_ARGS[@]}-1}")', ("RB132",)),
    M("live appends", CURSOR, "    LIVE_CMD_ARGS=()\n", "", ("RB133",)),
    M("live appends a copy", CODEX, "LIVE_CMD_ARGS=(", "LIVE_CMD_ARGS+=(", ("RB133",)),
    M("filter does not compile", CODEX, ".type == \"item.completed\" then", ".type == \"item.completed\" the", ("RB134",)),
    M("filter for a newer jq", CODEX, '| strings | . + "', '| strings | trim + "', ("RB134",)),
    M("filter empty", OPENCODE, "printf '%s\\n' 'objects", ": 'objects", ("RB134",)),
    M("filter for a shape that is gone", OPENCODE, 'if .type == "text"', 'if .type == "texts"', ("RB135",)),
    M("filter of nothing", CODEX, "    printf '%s\\n' 'objects", "    echo empty; : 'objects", ("RB135",)),
    M("filter without partial messages", CLAUDE, 'extra=("--verbose" "--include-partial-messages")', 'extra=("--verbose")', ("RB135",)),
    M("filter cuts the text", CLAUDE, '.text | strings)', '.text | strings | . + "\\n")', ("RB135",)),
    M("filter without line breaks", CODEX, '| strings | . + "\\n"', '| strings | gsub("\\n"; " ") + "\\n"', ("RB135",)),
    M("filter shows thoughts", CODEX, '. == "agent_message" or', '. == "agent_message" or . == "reasoning" or', ("RB136",)),
    M("filter shows everything", CURSOR, "    printf '%s\\n' 'objects", "    echo .; : 'objects", ("RB136",)),
    M("filter shows the prompt", CURSOR, 'if .type == "assistant" then', 'if .type == "assistant" or .type == "user" then', ("RB136",)),
    M("filter shows the result again", CURSOR, "else empty end'", "elif .type == \"result\" then .result else empty end'", ("RB136",)),
    M("filter shows text twice", CLAUDE, 'objects | select(.type == "stream_event") | .event | objects\n| if',
      'objects | if .type == "assistant" then (.message.content[] | .text // empty) else (select(.type == "stream_event") | .event) end | if type == "string" then . elif',
      ("RB136",)),
    M("filter shows tool output", OPENCODE, 'if .type == "text" then .part | objects | .text', 'if .type == "text" then .part | objects | .text\n  elif .type == "tool_use" then .part.state.output',
      ("RB136",)),
    M("filter prints unknown events", LEAN, "else empty end else empty end", "else empty end else tostring end", ("RB136", "RB137")),
    M("filter fails for unknown events", OPENCODE, "  else empty end\n| strings", "  else .part.text | ltrimstr(1) | .[0] | error end\n| strings", ("RB137",)),
    M("filter fails for numbers", CODEX, "'objects\n| if", "'if", ("RB137",)),
    M("filter for an array", CODEX, "'objects\n| if", "'.[] | objects\n| if", ("RB138", "RB135")),
    M("filter of inputs", OPENCODE, "'objects\n| if", "'(., inputs) | objects\n| if", ("RB138",)),
    M("filter fails", CODEX, '| strings | . + "\\n"\'', '| strings | . + "\\n"\'; return 1', ("RB080",)),
    # -- sessions
    M("id with its key", ASKING, ".session_id? // empty", '.session_id? // empty | "id: " + .', ("RB150",)),
    M("every id", ASKING, " | head -n 1", "", ("RB150",)),
    M("another field", OPENCODE, '\\"sessionID\\"$value.*/\\\\5/p;t"', '\\"timestampID\\"$value.*/\\\\5/p;t"', ("RB150",)),
    M("null for none", ASKING, "fromjson? | .session_id? // empty", "fromjson? | objects | .session_id", ("RB151",)),
    M("the file's name for none", HOMELY, "| tail -n 1; }", "| tail -n 1 | grep . || basename \"$1\" .log; }", ("RB150", "RB151")),
    M("garbage as an id", ASKING, "fromjson? | .session_id? // empty", '(fromjson? | .session_id?) // "none"', ("RB151", "RB150")),
    M("whole list", HOMELY, "| jq -r 'if length == 1 then .[0].id else empty end' 2>/dev/null", "", ("RB152", "RB153")),
    M("fallback says nothing", OPENCODE, "list=$(opencode session list", "list=$(opencode-x session list", ("RB152",)),
    M("first of several", HOMELY, "if length == 1 then .[0].id else empty end", ".[0].id // empty", ("RB153",)),
    M("last of several", OPENCODE, 'if [[ -n "$found" && "$id" != "$found" ]]; then return 1; fi\n        found="$id"\n    done\n    if',
      'found="$id"\n    done\n    if', ("RB153",)),
    M("the error as an id", HOMELY, "| jq -r 'if length == 1 then .[0].id else empty end' 2>/dev/null", "| tail -n 1 | tr -d '[] '", ("RB154", "RB152")),
    M("an id without a CLI", HOMELY, "else empty end' 2>/dev/null; }", "else empty end' 2>/dev/null | grep . || echo none; }", ("RB154", "RB153")),
    M("a wrong id is believed", CODEX, "", "driver_extract_session_id_from_output() { grep -o 'item_[0-9]' \"$1\" | head -n 1; }", ("RB155", "RB150", "RB151")),
    M("an id of its own", CURSOR, "", "driver_extract_session_id_from_output() { [[ -s \"$1\" ]] && basename \"$1\" .log; }", ("RB155", "RB150")),
    # -- the matrix
    M("codex without sessions", CODEX, "driver_supports_sessions() {\n    return 0", "driver_supports_sessions() {\n    return 1", ("RB156",)),
    M("claude without allowlist", CLAUDE, "driver_supports_tool_allowlist() {\n    return 0", "driver_supports_tool_allowlist() {\n    return 1", ("RB156",)),
    M("copilot with live output", COPILOT, "driver_supports_live_output() {\n    return 1", "driver_supports_live_output() {\n    return 0", ("RB156",)),
    M("opencode without live output", OPENCODE, "driver_supports_live_output() {\n    return 0", "driver_supports_live_output() {\n    return 1", ("RB156",)),
    M("opencode without extraction", OPENCODE, "driver_extract_session_id_from_output()", "my_extract_session_id()", ("RB156",)),
    M("cursor without stream-json", CURSOR, 'arg="stream-json"', 'arg="json"', ("RB156",)),
    M("claude without a live command", CLAUDE, "driver_prepare_live_command()", "prepare_live_command()", ("RB156",)),
    M("codex without events", CODEX, '"exec" "--json"', '"exec"', ("RB156",)),
    M("claude live without verbose", CLAUDE, 'extra=("--verbose" "--include-partial-messages")', 'extra=("--include-partial-messages")', ("RB156",)),
    M("codex with a live flag", CODEX, COPY, f'{COPY}; LIVE_CMD_ARGS+=("--verbose")', ("RB156",)),
]  # fmt: skip
