"""A tool that fails in the same way, and at once, each time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from bridge.loop.engine.outcome import Outcome, build_outcome
from bridge.loop.engine.policy import GO_ON, Decision, Limits, Verdict
from bridge.loop.engine.standstill import NOT_READY, SAME, Standstill
from bridge.loop.turn.tool import TurnLogs, TurnRequest, TurnResult
from bridge.scripts.stream.analysis import Analyzer
from tests.stream import samples

ROOT = Outcome(status=1, error="--dangerously-skip-permissions cannot be used with root/sudo", said=False)
GONE = Outcome(status=127, error="env: 'node': No such file or directory", said=False)
NETWORK = (
    "The socket connection was closed unexpectedly",
    "Unable to connect to API",
    "socket hang up",
    "Selected model is at capacity. Please try a different model.",
    "connection to the server was lost",
)
WELL = Outcome(completed=True, said=True)


def ends(*outcomes: Outcome, seconds: float = 1.0) -> Decision:
    stand, decision = Standstill(), GO_ON
    for each in outcomes:
        stand = stand.after(each, None, seconds)
        decision = stand.judge(GO_ON, each, Limits(), "claude")
    return decision


def test_it_ends_with_the_words_and_the_next_step() -> None:
    assert ends(ROOT, ROOT) == GO_ON
    end = ends(ROOT, ROOT, ROOT)
    assert (end.verdict, end.reason, end.status) == (Verdict.INCOMPLETE, SAME, NOT_READY)
    assert "root/sudo" in end.detail
    assert "IS_SANDBOX=1" in end.detail


def test_what_may_pass_goes_on() -> None:
    network = Outcome(status=1, error="connect ECONNREFUSED 127.0.0.1:443", said=False)
    other = Outcome(status=1, error="something else", said=False)
    slow = Outcome(status=1, error="it failed", said=False)
    assert ends(network, network, network, network) == GO_ON
    for words in (
        "API Error: 500",
        'API Error: 500 {"type":"error"}',
        "status code 504",
        "Internal server error",
        *NETWORK,
    ):
        assert ends(*3 * [Outcome(status=1, error=words, said=False)]) == GO_ON, words
    assert ends(ROOT, ROOT, other) == GO_ON
    assert ends(WELL, ROOT, ROOT, ROOT) == GO_ON
    assert ends(slow, slow, slow, seconds=60.0) == GO_ON


def test_ids_and_times_in_the_words_make_no_other_failure() -> None:
    ids = ("0DAE:25E8 at 06:46", "1C3B:99AF at 06:47", "req_7aXq at 16:48")
    turns = [Outcome(status=1, error=f"it broke (Request ID: {each})", said=False) for each in ids]
    assert ends(*turns).reason == SAME


def test_a_failure_without_a_word_has_to_come_twice_as_often() -> None:
    mute, killed = Outcome(status=1, said=False), Outcome(status=-9, said=False)
    assert ends(*5 * [mute]) == ends(*5 * [mute], killed) == GO_ON
    end = ends(*6 * [mute])
    assert (end.reason, end.status) == (SAME, NOT_READY)
    assert "exit status 1, without a word · next: " in end.detail
    assert "printed nothing · next: " in ends(*6 * [Outcome(said=False)]).detail


def test_an_error_that_is_printed_as_the_assistants_words_too_is_no_answer() -> None:
    analyzer = Analyzer()
    words = "Please accept the new terms first"
    analyzer.feed(samples.lines(samples.CLAUDE_INIT, samples.message(words))[1])
    analyzer.feed(samples.lines({**samples.CLAUDE_RESULT, "is_error": True, "result": words})[0])
    request = TurnRequest(1, "PROMPT.md", TurnLogs(Path("out")))
    turn = build_outcome(Outcome, TurnResult(1, analyzer), request, now=datetime.now(UTC))
    assert ends(turn, turn, turn).reason == SAME


def test_what_bash_prints_of_a_program_that_was_killed() -> None:
    told = b'night.sh: line 37:  1234 Killed                  ( set -f;\nfi; "$CLI" )\n'
    request = TurnRequest(1, "PROMPT.md", TurnLogs(Path("out")))
    result = TurnResult(137, Analyzer(), stderr=told)
    assert build_outcome(Outcome, result, request, now=datetime.now(UTC)).error == "Killed"


def test_what_can_not_be_started_ends_it_at_any_time() -> None:
    assert ends(WELL, GONE, GONE, GONE).reason == SAME


def test_a_line_of_plain_text_before_a_failure_is_no_answer() -> None:
    def came_to(text: bytes, status: int, stderr: bytes = b"") -> Outcome:
        output = Analyzer()
        output.feed(text)
        result = TurnResult(status, output, stderr=stderr)
        request = TurnRequest(1, "PROMPT.md", TurnLogs(Path("out")))
        return build_outcome(Outcome, result, request, now=datetime.now(UTC))

    failed = came_to(b"Something broke: E_ODD\nSomething broke: E_ODD\n", 1)
    assert (failed.said, failed.failure) == (False, "exit status 1: Something broke: E_ODD")
    assert came_to(b"Something broke\n", 1, b"why\n").failure == "exit status 1: why"
    assert came_to(b"one\ntwo\nthree\nfour\n", 1).said
    assert came_to(b"All is done.\n", 0).said
