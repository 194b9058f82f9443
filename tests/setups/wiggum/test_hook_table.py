"""The contract of the Stop hook as a table: what comes in, what goes out, and what becomes of the state."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.setups.wiggum.project import Project

BLOCK, ALLOW, OPEN, SILENT = "block", "allow", "open", "silent"
GIVEN = "Done.\n<promise>COMPLETE</promise>"


def said(*lines: object, end: str = "\n") -> str:
    """A transcript."""
    return end.join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end


def of(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {"type": role, "message": {"role": role, "content": content}} | more


@dataclass(frozen=True)
class Row:
    """One call.

    Attributes:
        about: its name.
        does: the hook prevents the stop, allows it with a word or silently, or fails open.
        call: what differs from the usual input; ``env`` and ``raw`` as `Project.hook` takes them.
        state: what differs from the usual state; None: there is none.
        files: written before the call; a transcript is ``t.jsonl``.
        told: stands in the message to the user.
        after: keys of the state behind the call; None: the state file is byte for byte as it was.
    """

    about: str
    does: str
    call: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] | None = field(default_factory=dict)
    files: dict[str, str | bytes] = field(default_factory=dict)
    told: str = ""
    after: dict[str, Any] | None = None


OWN = {"session_id": "mine"}
USE = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}}
RESULT = {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}}
BOTH = of("assistant", GIVEN)
BOTH["message"]["content"].append({"type": "tool_use", "id": "t"})
DONE, GOES_ON = {"outcome": "complete"}, {"outcome": None, "iteration": 1}
FALLBACK = {"last_assistant_message": None, "transcript_path": "t.jsonl"}
ROWS = [
    # going on
    Row(
        "the first stop claims the loop",
        BLOCK,
        after={"session_id": "mine", "iteration": 1},
        told="iteration 2 of 50",
    ),
    Row("the owner goes on", BLOCK, state={**OWN, "iteration": 7}, after={"iteration": 8}),
    Row("stop_hook_active is no reason to stop", BLOCK, {"stop_hook_active": True}, OWN, after={"blocks": 1}),
    Row(
        "a first stop of a turn begins the count anew",
        BLOCK,
        {"stop_hook_active": False},
        {**OWN, "blocks": 7},
        after={"blocks": 1},
    ),
    Row("items left are told", BLOCK, told="3 of 3 items left", after={"remaining_items": 3}),
    Row(
        "a byte order mark does no harm",
        BLOCK,
        {"raw": b"\xef\xbb\xbf" + json.dumps({"session_id": "mine", "last_assistant_message": "x"}).encode()},
        after={"iteration": 1},
    ),
    Row(
        "unknown keys of the input do no harm",
        BLOCK,
        {"background_tasks": [], "effort": {"level": "high"}},
        after={"iteration": 1},
    ),
    Row(
        "JSON may be spaced in any way",
        BLOCK,
        {"raw": b'\n{\n "session_id" :\t"mine" ,\n\n"last_assistant_message":"x"  }\n'},
        after={"iteration": 1},
    ),
    Row("an event name that is missing is Stop", BLOCK, {"hook_event_name": None}, after={"iteration": 1}),
    Row("an event name that is empty is Stop", BLOCK, {"hook_event_name": ""}, after={"iteration": 1}),
    Row("a session of a named agent is a session", BLOCK, {"agent_type": "reviewer"}, after={"iteration": 1}),
    # the promise
    Row(
        "the promise ends the loop",
        ALLOW,
        {"last_assistant_message": GIVEN},
        told="complete: ",
        after={"outcome": "complete", "exit_code": 0, "iteration": 1},
    ),
    Row(
        "the promise in the last turn is a success, not the limit",
        ALLOW,
        {"last_assistant_message": GIVEN},
        {"iteration": 49},
        told="complete: ",
        after={"outcome": "complete"},
    ),
    Row(
        "a promise of another text",
        BLOCK,
        {"last_assistant_message": "<promise>DONE</promise>"},
        after={"outcome": None},
    ),
    Row(
        "a promise of one's own",
        ALLOW,
        {"last_assistant_message": "<promise>ALL GREEN</promise>"},
        {"completion_promise": "ALL GREEN"},
        told="complete",
        after={"outcome": "complete"},
    ),
    Row(
        "white space in a promise is collapsed",
        ALLOW,
        {"last_assistant_message": "<promise>\n ALL\n GREEN </promise>"},
        {"completion_promise": "ALL GREEN"},
        after={"outcome": "complete"},
    ),
    Row(
        "the right promise behind a wrong one",
        ALLOW,
        {"last_assistant_message": "<promise>no</promise> <promise>COMPLETE</promise>"},
        after={"outcome": "complete"},
    ),
    Row(
        "a promise is no pattern",
        BLOCK,
        {"last_assistant_message": "<promise>anything</promise>"},
        {"completion_promise": ".*"},
        after={"outcome": None},
    ),
    Row(
        "a promise with signs of a pattern is met literally",
        ALLOW,
        {"last_assistant_message": "<promise>$5 (+[a])?</promise>"},
        {"completion_promise": "$5 (+[a])?"},
        after={"outcome": "complete"},
    ),
    Row(
        "upper and lower case differ",
        BLOCK,
        {"last_assistant_message": "<promise>complete</promise>"},
        after={"outcome": None},
    ),
    Row("the bare word is no promise", BLOCK, {"last_assistant_message": "COMPLETE"}, after={"outcome": None}),
    Row("a tag that isn't closed", BLOCK, {"last_assistant_message": "<promise>COMPLETE"}, after={"outcome": None}),
    Row(
        "a promise in the prompt and the transcript only",
        BLOCK,
        {"transcript_path": "t.jsonl"},
        files={"t.jsonl": said(of("user", GIVEN), of("assistant", "Not yet."))},
        after={"outcome": None},
    ),
    # fatal
    Row(
        "fatal ends the loop",
        ALLOW,
        {"last_assistant_message": "<fatal>no compiler</fatal>"},
        told="fatal: no compiler",
        after={"outcome": "fatal", "exit_code": 5},
    ),
    Row(
        "the promise goes before fatal",
        ALLOW,
        {"last_assistant_message": f"<fatal>x</fatal> {GIVEN}"},
        after={"outcome": "complete"},
    ),
    Row(
        "fatal goes before the limit",
        ALLOW,
        {"last_assistant_message": "<fatal>x</fatal>"},
        {"iteration": 49},
        after={"outcome": "fatal"},
    ),
    Row(
        "the word fatal in a sentence",
        BLOCK,
        {"last_assistant_message": "I handle <fatal> errors now."},
        after={"outcome": None},
    ),
    # limits
    Row(
        "so many turns, and no more",
        ALLOW,
        state={**OWN, "iteration": 49},
        told="maximum iterations (50) reached",
        after={"outcome": "max_iterations", "iteration": 50, "exit_code": 1},
    ),
    Row(
        "one turn before that",
        BLOCK,
        state={**OWN, "iteration": 48},
        told="iteration 50 of 50",
        after={"iteration": 49},
    ),
    Row(
        "no limit of turns", BLOCK, state={**OWN, "iteration": 4000, "max_iterations": 0}, after={"iteration": 4001}
    ),
    Row(
        "the minutes are over",
        ALLOW,
        state={**OWN, "max_minutes": 30, "started_at": "2026-01-02T02:04:05Z"},
        told="30 minutes are over",
        after={"outcome": "max_minutes"},
    ),
    Row(
        "the minutes are not over",
        BLOCK,
        state={**OWN, "max_minutes": 90, "started_at": "2026-01-02T02:04:05Z"},
        after={"outcome": None},
    ),
    Row(
        "the breaker opens",
        ALLOW,
        state={**OWN, "turn": {"number": 1, "head": "HEAD", "tree": "TREE"}, "breaker": {"no_change_count": 2}},
        told="no file changes in 3 turns",
        after={"outcome": "no_file_changes", "exit_code": 6},
    ),
    Row(
        "the same error for the fifth time",
        ALLOW,
        {"last_assistant_message": "Error: no such table at line 9"},
        {**OWN, "breaker": {"same_error_count": 4, "error_hashes": ["Error: no such table at line N"]}},
        told="repeated error",
        after={"outcome": "repeated_error", "exit_code": 7},
    ),
    Row(
        "another error than before",
        BLOCK,
        {"last_assistant_message": "Error: disk full"},
        {**OWN, "breaker": {"same_error_count": 4, "error_hashes": ["Error: no such table"]}},
        after={"outcome": None},
    ),
    Row(
        "being stuck is a warning",
        BLOCK,
        {"last_assistant_message": "I'm stuck."},
        told="the agent says that it is stuck",
        after={"outcome": None},
    ),
    Row(
        "being stuck stops where that is wanted",
        ALLOW,
        {"last_assistant_message": "I'm stuck."},
        {"breaker_settings": {"on_stuck": "stop"}},
        after={"outcome": "stuck", "exit_code": 9},
    ),
    Row(
        "a short answer is a warning",
        BLOCK,
        {"last_assistant_message": "ok"},
        {"breaker": {"output_lengths": [900, 1000, 1100]}},
        told="output declined by 99%",
        after={"outcome": None},
    ),
    # the CLI's own cap
    Row(
        "the cap of blocks in a row",
        ALLOW,
        state={
            **OWN,
            "blocks": 8,
            "breaker": {"no_change_count": 1},
            "turn": {"number": 1, "head": "HEAD", "tree": "TREE"},
        },
        told="8 stops in a row",
        after={"outcome": None, "blocks": 0},
    ),
    Row(
        "talk between blocks counts",
        BLOCK,
        state={**OWN, "blocks": 3, "turn": {"number": 1, "head": "HEAD", "tree": "TREE"}},
        after={"blocks": 4},
    ),
    Row(
        "work begins the count anew",
        BLOCK,
        state={**OWN, "blocks": 8, "turn": {"number": 1, "head": "HEAD", "tree": "before"}},
        after={"blocks": 1},
    ),
    Row(
        "a tool begins the count anew",
        BLOCK,
        {"transcript_path": "t.jsonl"},
        {**OWN, "blocks": 8, "turn": {"number": 1, "head": "HEAD", "tree": "TREE"}},
        {
            "t.jsonl": said(
                of("user", "go"),
                {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result"}]}},
                of("assistant", "x"),
            )
        },
        after={"blocks": 1},
    ),
    Row(
        "a cap that the user has named",
        ALLOW,
        {"env": {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2"}},
        {**OWN, "blocks": 2},
        told="2 stops in a row",
        after={"outcome": None},
    ),
    Row(
        "no cap",
        BLOCK,
        {"env": {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0"}},
        {**OWN, "blocks": 400},
        after={"blocks": 401},
    ),
    # whose turn it is
    Row("a foreign session", SILENT, state={"session_id": "yours"}),
    Row(
        "a foreign session that gives the promise",
        SILENT,
        {"last_assistant_message": GIVEN},
        {"session_id": "yours"},
    ),
    Row("a session without a name", OPEN, {"session_id": None}, OWN, told="no session_id"),
    Row("a session without a name, unclaimed", OPEN, {"session_id": ""}, told="no session_id"),
    Row("a session id of another type", OPEN, {"session_id": 7}, told="no session_id"),
    Row("an outer loop's agent", SILENT, {"last_assistant_message": GIVEN}, {"mode": "outer"}),
    Row("a loop that has ended", SILENT, state={**OWN, "outcome": "complete"}),
    Row("no loop at all", SILENT, state=None),
    Row("a sub-agent's stop", SILENT, {"hook_event_name": "SubagentStop", "last_assistant_message": GIVEN}),
    Row("a stop within a sub-agent", SILENT, {"agent_id": "a1", "last_assistant_message": GIVEN}),
    Row(
        "somebody asked for the end",
        ALLOW,
        state=OWN,
        files={".claude/ralph/cancel": ""},
        told="stopped by hand",
        after={"outcome": "cancelled", "exit_code": 130},
    ),
    # broken input
    Row("no input", OPEN, {"raw": b""}, OWN, told="its input is empty"),
    Row(
        "input that is cut off", OPEN, {"raw": b'{"session_id": "mine", "last_assistant_mess'}, OWN, told="no JSON"
    ),
    Row("input that is no JSON", OPEN, {"raw": b"<promise>COMPLETE</promise>"}, OWN, told="no JSON"),
    Row("input that is an array", OPEN, {"raw": b"[1]"}, OWN, told="no JSON object"),
    Row("input that is no UTF-8", OPEN, {"raw": b"\xff\xfe{"}, OWN, told="no JSON"),
    Row("input that is nested too deeply", OPEN, {"raw": b"[" * 200_000}, OWN, told="no JSON"),
    Row(
        "a message of another type, and no transcript",
        OPEN,
        {"last_assistant_message": 7},
        OWN,
        told="last message",
    ),
    Row(
        "no message, no transcript",
        OPEN,
        {"last_assistant_message": None},
        OWN,
        told="the loop's state is untouched",
    ),
    Row("an empty message is a message", BLOCK, {"last_assistant_message": ""}, OWN, after={"iteration": 1}),
    Row(
        "a folder that isn't there: that of the process", BLOCK, {"cwd": "/nowhere/at/all"}, after={"iteration": 1}
    ),
    # broken state
    Row("a state that is cut off", OPEN, files={".claude/ralph-state.json": '{"iteration": 3,'}, told="is no JSON"),
    Row("a state that is empty", OPEN, files={".claude/ralph-state.json": ""}, told="is no JSON"),
    Row(
        "a state with a wrong value",
        OPEN,
        state={"iteration": "many"},
        told="iteration is 'many', expected a whole number",
    ),
    Row("a state of a later schema", OPEN, state={"schema_version": 2}, told="schema_version 2"),
    Row(
        "numbers that jq wrote as strings (contradiction 18)",
        BLOCK,
        state={"iteration": "7", "max_iterations": "9"},
        told="iteration 9 of 9",
        after={"iteration": 8},
    ),
    Row(
        "the sample hook's state",
        BLOCK,
        {"env": {"RALPH_MAX_ITERATIONS": "5"}},
        None,
        {".claude/ralph-state.json": '{"iteration":2,"no_change_count":0,"error_hashes":[],"last_diff_hash":""}'},
        told="iteration 4 of 5",
        after={"iteration": 3, "no_change_count": 1, "error_hashes": []},
    ),
    Row(
        "the sample hook's own promise",
        ALLOW,
        {"env": {"RALPH_COMPLETION_PROMISE": "OK"}, "last_assistant_message": "<promise>OK</promise>"},
        None,
        {".claude/ralph-state.json": '{"iteration":2}'},
        after={"outcome": "complete"},
    ),
    Row(
        "a prompt that is empty",
        OPEN,
        state=OWN,
        files={"PROMPT.md": " \n"},
        told="PROMPT.md is empty",
        after={"outcome": None, "iteration": 1},
    ),
    # the transcript, when the message isn't given
    Row(
        "the last message of a transcript",
        ALLOW,
        FALLBACK,
        OWN,
        {"t.jsonl": said(of("user", "go"), of("assistant", GIVEN))},
        after={"outcome": "complete"},
    ),
    Row(
        "a promise in an earlier message",
        BLOCK,
        FALLBACK,
        OWN,
        {"t.jsonl": said(of("assistant", GIVEN), of("user", "and now?"), of("assistant", "More."))},
        after={"outcome": None},
    ),
    Row(
        "a promise in what the user said",
        BLOCK,
        FALLBACK,
        OWN,
        {"t.jsonl": said(of("user", GIVEN), of("assistant", "More."))},
        after={"outcome": None},
    ),
    Row(
        "a promise in a tool's output",
        BLOCK,
        FALLBACK,
        OWN,
        {
            "t.jsonl": said(
                of("user", "go"),
                {
                    "type": "user",
                    "message": {"role": "user", "content": [{"type": "tool_result", "content": GIVEN}]},
                },
                of("assistant", "More."),
            )
        },
        after={"outcome": None},
    ),
    Row(
        "a promise by a sub-agent",
        BLOCK,
        FALLBACK,
        OWN,
        {"t.jsonl": said(of("user", "go"), of("assistant", "More."), of("assistant", GIVEN, isSidechain=True))},
        after={"outcome": None},
    ),
    Row(
        "a transcript with blanks in its JSON",
        ALLOW,
        FALLBACK,
        OWN,
        {
            "t.jsonl": '{ "type" : "assistant" , "message" : '
            '{ "role" : "assistant" , "content" : "<promise>COMPLETE</promise>" } }'
        },
        after={"outcome": "complete"},
    ),
    Row(
        "a message in several lines of a transcript",
        ALLOW,
        FALLBACK,
        OWN,
        {
            "t.jsonl": said(
                *(
                    {"type": "assistant", "message": {"role": "assistant", "id": "m1", "content": [each]}}
                    for each in (
                        {"type": "thinking", "thinking": "x"},
                        {"type": "text", "text": GIVEN},
                        {"type": "text", "text": "Bye."},
                    )
                )
            )
        },
        after={"outcome": "complete"},
    ),
    Row(
        "lines about the session behind the message",
        ALLOW,
        FALLBACK,
        OWN,
        {"t.jsonl": said(of("assistant", GIVEN), {"type": "system", "subtype": "stop"}, {"type": "last-prompt"})},
        after={"outcome": "complete"},
    ),
    Row("a transcript that isn't there", OPEN, FALLBACK, OWN, told="nor, by now, in the transcript"),
    Row(
        "a transcript whose last word is the user's",
        OPEN,
        FALLBACK,
        OWN,
        {"t.jsonl": said(of("assistant", GIVEN), of("user", "go"))},
        told="nor, by now",
    ),
    Row(
        "a transcript that is cut off",
        OPEN,
        FALLBACK,
        OWN,
        {"t.jsonl": said(of("user", "go")) + '{"type":"assistant","mess'},
        told="nor, by now",
    ),
    Row(
        "a transcript that ends in a call of a tool",
        OPEN,
        FALLBACK,
        OWN,
        {
            "t.jsonl": said(
                of("user", "go"),
                {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "tool_use"}]}},
            )
        },
        told="nor, by now",
    ),
    # 14 F.9: the last line of the turn is the use of a tool
    *(
        Row(
            f"a text, then {about}",
            does,
            FALLBACK,
            OWN,
            {"t.jsonl": said(*entries)},
            told=told,
            after=after,
        )
        for about, entries, does, told, after in (
            ("a tool", [of("user", "go"), of("assistant", GIVEN), USE], ALLOW, "complete", DONE),
            ("a tool in the same line", [of("user", "go"), BOTH], ALLOW, "complete", DONE),
            (
                "tools and results",
                [of("user", "go"), of("assistant", GIVEN), USE, RESULT, USE],
                ALLOW,
                "complete",
                DONE,
            ),
            (
                "a tool and its result",
                [of("user", "go"), of("assistant", GIVEN), USE, RESULT],
                ALLOW,
                "complete",
                DONE,
            ),
            (
                "a tool, after an older one",
                [of("assistant", GIVEN), USE, RESULT, of("assistant", "x"), USE],
                BLOCK,
                "",
                GOES_ON,
            ),
            ("a tool in the next turn", [of("assistant", GIVEN), of("user", "go"), USE], OPEN, "nor, by now", None),
        )
    ),
    Row(
        "a text, then a tool, and a line that is cut off",
        OPEN,
        FALLBACK,
        OWN,
        {"t.jsonl": said(of("user", "go"), of("assistant", GIVEN), USE) + '{"type":"assi'},
        told="nor, by now",
    ),
    Row(
        "a given message goes before the transcript",
        BLOCK,
        {"transcript_path": "t.jsonl"},
        OWN,
        {"t.jsonl": said(of("assistant", GIVEN))},
        after={"outcome": None},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.about)
def test_the_contract(project: Project, row: Row) -> None:
    if row.state is not None:
        project.keep(**_looked(project, row.state))
    for name, text in row.files.items():
        project.write(name, text)
    before = project.layout.state.read_bytes() if row.state is not None or row.files else b""
    given = dict(row.call)
    if "transcript_path" in given:
        given["transcript_path"] = str(project.path / given["transcript_path"])

    found = project.hook(**given)

    document = found.document
    assert found.status == 0
    assert (document.get("decision") == "block") == (row.does == BLOCK)
    assert (found.stdout == "" and found.stderr == "") == (row.does == SILENT)
    assert bool(found.stderr) == (row.does == OPEN)
    assert row.told in document.get("systemMessage", "")
    if row.does == BLOCK:
        assert document["reason"] == project.read("PROMPT.md")
    if row.after is None:
        assert not project.layout.state.exists() or project.layout.state.read_bytes() == before
    else:
        state = project.state
        assert {key: state[key] for key in row.after} == row.after


def _looked(project: Project, state: dict[str, Any]) -> dict[str, Any]:
    """Put what git says now into the turn of a state, where the row wants that."""
    if "turn" not in state:
        return state
    from bridge.base.git.work import WorkDetector
    from bridge.loop.setups.wiggum.files import FILES

    look = WorkDetector(project.path, FILES).look()
    names = {"HEAD": look.head, "TREE": look.tree}
    return state | {"turn": {key: names.get(value, value) for key, value in state["turn"].items()}}


def test_there_are_enough_rows() -> None:
    assert len(ROWS) >= 40
    assert len({row.about for row in ROWS}) == len(ROWS)
