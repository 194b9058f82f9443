"""The readers of the CLIs' outputs: whose text counts, what ends a turn, what damage may not do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.scripts.stream import documents
from bridge.scripts.stream.events import Answer, Reader, read_output
from bridge.scripts.stream.status import find_promise, parse_status
from tests.stream import samples

every_family = pytest.mark.parametrize("name", samples.FAMILIES)


@every_family
def test_the_assistants_text_and_nothing_else(name: str) -> None:
    family, session_id, lines = samples.FAMILIES[name]
    assert read_output(lines) == Answer(
        family=family,
        text=samples.TEXT,
        final_text=samples.BLOCK,
        session_id=session_id,
        completed=True,
    )


@every_family
def test_T4_D10_the_block_is_found_in_every_family(name: str) -> None:  # noqa: N802
    answer = read_output(samples.FAMILIES[name][2])
    block = parse_status(answer.text)
    assert block is not None
    assert (block.status, block.exit_signal) == ("IN_PROGRESS", False)
    assert not find_promise(answer.text)


@every_family
def test_T13_garbage_lines_change_nothing(name: str) -> None:  # noqa: N802
    family, _, lines = samples.FAMILIES[name]
    garbage = [
        b"\xef\xbb\xbf\n",
        b"\n",
        b"Warning: no stdin data received\n",
        b"[WARN] x\n",
        b"\xff\xfe\x00\n",
        b'{"a":',
    ]
    mixed = [*garbage, *(one for line in lines for one in (line, *garbage))]
    answer = read_output(mixed)
    assert (answer.family, answer.text, answer.completed) == (family, samples.TEXT, True)
    assert answer.malformed >= 4 * len(lines)


junk = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"null", b"[]", b"{}", b"3", b'"x"', b"[1,2]", b'{"type":3}', b'{"type":["a"]}', b'{"type":{}}']
    ),
    st.sampled_from(
        [line[:cut] for _, _, lines in samples.FAMILIES.values() for line in lines for cut in (9, 30, -3)]
    ),
).filter(lambda line: not line.lstrip().startswith((b"```", b"~~~")) and b"\n" not in line)


@given(data=st.data(), name=st.sampled_from(sorted(samples.FAMILIES)))
def test_no_garbage_between_lines_changes_the_text(data: st.DataObject, name: str) -> None:
    mixed: list[bytes] = []
    for line in samples.FAMILIES[name][2]:
        mixed += data.draw(st.lists(junk, max_size=2))
        mixed.append(line if data.draw(st.booleans()) else line.replace(b"\n", b"\r\n"))
    assert read_output(mixed).text == samples.TEXT


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(data=st.data(), name=st.sampled_from(sorted(samples.FAMILIES)))
def test_fields_of_any_type_do_not_raise(data: st.DataObject, name: str) -> None:
    reader = Reader()
    for line in samples.FAMILIES[name][2]:
        event = json.loads(line)
        for target in [event] if isinstance(event, dict) else event:
            keys = sorted(target)
            target[data.draw(st.sampled_from(keys))] = data.draw(odd)
            for inner in ("message", "part", "data", "item", "event", "msg"):
                if isinstance(target.get(inner), dict) and target[inner]:
                    target[inner][data.draw(st.sampled_from(sorted(target[inner])))] = data.draw(odd)
        reader.feed(json.dumps(event).encode())
        reader.answer()
        reader.session_id()


@given(st.lists(st.binary(max_size=60)))
def test_no_bytes_raise(lines: list[bytes]) -> None:
    read_output(lines)


@every_family
def test_an_output_cut_anywhere_is_read(name: str) -> None:
    lines = samples.FAMILIES[name][2]
    for end in range(len(lines)):
        answer = read_output([*lines[:end], lines[end][: len(lines[end]) // 2]])
        assert answer.text in ("", samples.TEXT) or samples.TEXT.startswith(answer.text) or answer.family == "text"


@pytest.mark.parametrize("name", [name for name in samples.FAMILIES if "array" not in name])
def test_indented_documents(name: str) -> None:
    family, _, lines = samples.FAMILIES[name]
    indented = b"\n".join(json.dumps(json.loads(line), indent=2).encode() for line in lines)
    answer = read_output([b"[WARN] a wrapper\n", *indented.splitlines(keepends=True)])
    assert (answer.family, answer.text) == (family, samples.TEXT)


@pytest.mark.parametrize("indent", [0, 2, None])
def test_one_array(indent: int | None) -> None:
    whole = json.dumps(samples.CLAUDE_EVENTS, indent=indent).encode()
    assert read_output(whole.splitlines(keepends=True)).text == samples.TEXT


def test_an_array_with_an_element_a_line() -> None:
    rows = [json.dumps(event).encode() for event in samples.CLAUDE_EVENTS]
    spread = [b"[" + rows[0] + b",\n", *(row + b",\n" for row in rows[1:-1]), rows[-1] + b"]\n"]
    assert read_output(spread).text == samples.TEXT


def test_several_events_on_a_line() -> None:
    assert read_output([b"".join(line.strip() for line in samples.FAMILIES["codex"][2])]).text == samples.TEXT


# claude


def test_claude_one_object() -> None:
    answer = read_output(samples.lines(samples.CLAUDE_RESULT))
    assert (answer.family, answer.text, answer.session_id) == ("claude", samples.BLOCK, "c-1")
    assert answer.completed is True


def test_claude_pieces_count_when_the_stream_is_cut() -> None:
    answer = read_output(samples.lines(samples.CLAUDE_INIT, samples.message("one"), *samples.pieces("two, and")))
    assert answer.text == "one\n\ntwo, and"
    assert answer.completed is False


def test_claude_a_message_begun_anew_counts_once() -> None:
    events = [*samples.pieces("I im"), *samples.pieces(samples.WORK), samples.STOP]
    assert read_output(samples.lines(*events)).text == samples.WORK


def test_claude_a_damaged_message_is_replaced_by_its_pieces() -> None:
    events = samples.lines(*samples.pieces("one"), samples.STOP, *samples.pieces("two"), samples.message("two"))
    assert read_output(events).text == "one\n\ntwo"


def test_claude_sub_agents_are_tools() -> None:
    events = [
        samples.CLAUDE_INIT,
        samples.message(samples.PROMPT, parent_tool_use_id="t"),
        samples.CLAUDE_RESULT,
    ]
    assert read_output(samples.lines(*events)).text == samples.BLOCK


def test_claude_limit() -> None:
    notice = "You've hit your session limit"
    message = samples.message(notice)
    message["message"] = {"model": "<synthetic>", "content": [{"type": "text", "text": notice}]}
    events = [
        samples.CLAUDE_INIT,
        samples.message(samples.WORK),
        {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1795193249}},
        message,
        {**samples.CLAUDE_RESULT, "is_error": True, "result": notice},
    ]
    answer = read_output(samples.lines(*events))
    assert (answer.is_error, answer.error, answer.reset_at) == (True, notice, 1795193249.0)
    assert (answer.text, answer.completed) == (samples.WORK, False)


def test_claude_a_warning_of_a_limit_is_none() -> None:
    info = {"status": "allowed_warning", "resetsAt": 1795193249}
    events = samples.lines(samples.CLAUDE_INIT, {"type": "rate_limit_event", "rate_limit_info": info})
    assert read_output(events).reset_at is None


def test_claude_errors_without_a_result() -> None:
    event = {
        "type": "result",
        "subtype": "error_max_turns",
        "is_error": False,
        "session_id": "c-1",
        "errors": ["a", "b"],
    }
    answer = read_output(samples.lines(event))
    assert (answer.is_error, answer.error, answer.completed) == (True, "a\nb", False)


def test_claude_retrying_is_no_failure_yet() -> None:
    event = {"type": "system", "subtype": "api_retry", "error": "overloaded", "session_id": "c-1"}
    answer = read_output(samples.lines(event))
    assert (answer.error, answer.is_error) == ("overloaded", False)


# cursor


@pytest.mark.parametrize("whole", [False, True], ids=["a line each", "one array"])
def test_g_claude_results_of_one_process_are_added_up(whole: bool) -> None:
    """2.1.330: a sub-agent in the background ends after the turn that began it, and wakes it for another."""
    denied = {"tool_name": "WebFetch", "tool_use_id": "t", "tool_input": {"url": "x"}}
    first: dict[str, object] = {
        **samples.CLAUDE_RESULT,
        "num_turns": 3,
        "usage": {"input_tokens": 700, "output_tokens": 160},
        "permission_denials": [denied],
        "total_cost_usd": 0.5,
        "result_index": 0,
    }
    last = {
        **first,
        "num_turns": 1,
        "usage": {"input_tokens": 200, "output_tokens": 50, "cache_read_input_tokens": 9},
        "permission_denials": [],
        "result_index": 1,
    }
    reader = Reader()
    events = (samples.CLAUDE_INIT, samples.message("One."), first, samples.message("Two."), last)
    for line in samples.lines([*events]) if whole else samples.lines(*events):
        reader.feed(line)
    answer, details = reader.answer(), reader.answer()
    assert (answer.completed, answer.text.count("One."), answer.text.count("Two.")) == (True, 1, 1)
    assert details.denials == ("WebFetch",)
    usage = details.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (900, 210, 9)
    assert (usage.num_turns, usage.total_cost_usd) == (4, 0.5)


def test_cursor_one_object() -> None:
    event = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "ok",
        "session_id": "u",
        "request_id": "r",
    }
    assert read_output(samples.lines(event)) == Answer("cursor", "ok", "ok", "u", completed=True)


def test_cursor_partial_output_counts_once() -> None:
    init = samples.CURSOR_EVENTS[0]
    parts = [{**samples.message(part), "timestamp_ms": 1} for part in ("I wr", "ite it.")]
    events = [init, *parts, {**samples.message(samples.WORK), "timestamp_ms": 1, "model_call_id": "m"}]
    assert read_output(samples.lines(*events)).text == samples.WORK
    assert read_output(samples.lines(init, *parts)).text == samples.WORK


# codex


def test_codex_a_reconnect_that_succeeds_is_no_failure() -> None:
    events = [*samples.CODEX_EVENTS[:3], {"type": "error", "message": "Reconnecting... 1/5"}]
    assert read_output(samples.lines(*events)).is_error
    assert not read_output(samples.lines(*events, *samples.CODEX_EVENTS[3:])).is_error


def test_codex_failed() -> None:
    events = [*samples.CODEX_EVENTS[:-1], {"type": "turn.failed", "error": {"message": "usage limit"}}]
    answer = read_output(samples.lines(*events))
    assert (answer.is_error, answer.error, answer.completed) == (True, "usage limit", False)
    assert answer.text == samples.TEXT


# opencode


def test_T5_D5_D6_opencode_today_is_read() -> None:  # noqa: N802
    answer = read_output(samples.FAMILIES["opencode"][2])
    assert (answer.family, answer.session_id) == ("opencode", "ses_1")
    assert parse_status(answer.text) is not None


def test_opencode_waiting_for_another_step_is_not_complete() -> None:
    assert read_output(samples.lines(*samples.OPENCODE_EVENTS[:5])).completed is False


def test_opencode_error() -> None:
    error = {"name": "APIError", "data": {"message": "invalid x-api-key", "statusCode": 401}}
    answer = read_output(samples.lines({"type": "error", "sessionID": "ses_1", "error": error}))
    assert (answer.is_error, answer.error, answer.completed) == (True, "invalid x-api-key", False)


# copilot, cline


def test_copilot_exit_code() -> None:
    answer = read_output(samples.lines({"type": "result", "sessionId": "p-1", "exitCode": 1}))
    assert (answer.family, answer.is_error, answer.completed) == ("copilot", True, False)


def test_cline_stopped() -> None:
    answer = read_output(samples.lines({"type": "run_result", "finishReason": "max_iterations", "text": ""}))
    assert (answer.is_error, answer.error) == (True, "max_iterations")


# plain text, and objects of nobody


def test_plain_text() -> None:
    lines = samples.TEXT.encode().replace(b"\n", b"\r\n").splitlines(keepends=True)
    answer = read_output(lines)
    assert answer == Answer("text", samples.TEXT.strip("\n"), samples.TEXT.strip("\n"), None, completed=None)


def test_plain_text_that_shows_events_stays_plain_text() -> None:
    shown = b'{"type":"thread.started","thread_id":"x"}\n'
    lines = [b"Codex prints:\n", b"```json\n", shown, b"```\n", b"Done.\n"]
    answer = read_output(lines)
    assert (answer.family, answer.session_id) == ("text", None)
    assert answer.text.endswith("Done.")


def test_prose_with_an_object_is_prose() -> None:
    assert read_output([b"It printed\n", b'{"result":"ok"}\n', b"and ended.\n"]).family == "text"


@pytest.mark.parametrize("indent", [None, 2])
def test_one_object_of_no_known_cli(indent: int | None) -> None:
    document = {"result": "ok", "metadata": {"session_id": "m-1"}, "session_id": "s-1"}
    answer = read_output(json.dumps(document, indent=indent).encode().splitlines(keepends=True))
    assert answer == Answer("json", "ok", "ok", "m-1", completed=True)


@pytest.mark.parametrize("lines", [[], [b""], [b"\n", b"\r\n"], [b"{}"], [b"[]"], [b"null"]])
def test_nothing(lines: list[bytes]) -> None:
    answer = read_output(lines)
    assert (answer.family, answer.completed, answer.session_id) == ("text", None, None)


def test_halves_of_surrogate_pairs_and_latin_1_can_be_written_out() -> None:
    event = b'{"type":"result","result":"a\\ud83d\xe9","session_id":"s"}'
    assert read_output([event]).text.encode() == "a\ufffd\ufffd".encode()


def test_deep_nesting_is_malformed() -> None:
    reader = Reader()
    reader.feed(b"[" * 100_000)
    reader.feed(samples.lines(samples.CLAUDE_RESULT)[0])
    assert (reader.malformed, reader.answer().text) == (1, samples.BLOCK)


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "HELD_LIMIT", 100)
    held = documents.Held(limit=100)
    for number in range(1000):
        held.add(b"line %d" % number)
    assert len(held.data()) <= 100
    assert held.data().endswith(b"line 999\n")
    assert documents.parse_line(b'{"a":"' + b"x" * 100 + b'"}') is None


def test_a_truncated_indented_document_costs_no_square() -> None:
    events = [samples.CLAUDE_INIT, *[samples.message("x")] * 2000]
    data = json.dumps(events, indent=1).encode()[:-1]
    assert documents.parse_whole(data)


def test_an_answer_can_be_asked_for_while_it_grows() -> None:
    reader = Reader()
    seen = []
    for line in samples.FAMILIES["codex"][2]:
        reader.feed(line)
        seen.append(reader.answer().text)
    assert seen[-1] == samples.TEXT
    assert samples.WORK in seen
    assert reader.family == "codex"


# gemini


def test_gemini_one_object() -> None:
    tokens = {"tokens": {"prompt": 20, "candidates": 10, "cached": 5}}
    whole = {"session_id": "g-1", "response": samples.BLOCK, "stats": {"models": {"a": tokens, "b": tokens}}}
    reader = Reader()
    for line in json.dumps(whole, indent=2).encode().splitlines(keepends=True):
        reader.feed(line)
    answer = reader.answer()
    assert (answer.family, answer.text, answer.session_id) == ("gemini", samples.BLOCK, "g-1")
    usage = reader.answer().usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (40, 20, 10)


def test_gemini_fails_with_status_0_and_names_what_was_refused() -> None:
    call = samples.gemini("tool_use", tool_name="run_shell_command", tool_id="t", parameters={"command": "ls"})
    error = {"type": "policy_violation", "message": "denied by policy"}
    refused = samples.gemini("tool_result", tool_id="t", status="error", error=error)
    failure = samples.gemini("error", severity="error", message="The model returned an empty response")
    reader = Reader()
    for line in samples.lines(
        samples.GEMINI_EVENTS[0], call, refused, failure, samples.gemini("result", status="error", stats={})
    ):
        reader.feed(line)
    assert (reader.answer().is_error, reader.answer().error) == (True, "The model returned an empty response")
    assert reader.answer().denials == ("run_shell_command(ls)",)
