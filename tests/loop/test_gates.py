"""What a check and a review mean: findings, what is kept of them, decisions that doubt what a turn says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.engine.findings import Finding, findings_in, kept, words_of
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.plan import Plan
from bridge.loop.engine.policy import GO_ON, Moment, PlanPolicy, Verdict
from bridge.loop.engine.state import LoopState
from bridge.loop.setups.gate_options import gates_of
from bridge.loop.setups.options import RunOptions
from bridge.scripts.stream.analysis import Limit
from tests import examples

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"src/a b.py", "a.py", "Makefile"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a.py:3 too late", Finding("a.py", 3, "too late")),
        ("- a.py:3: too late", Finding("a.py", 3, "too late")),
        ("* **a.py:3** - too late", Finding("a.py", 3, "too late")),
        ("12) `a.py:3:14` too late", Finding("a.py", 3, "too late")),
        ("a.py:3-9 too late", Finding("a.py", 3, "too late")),
        ("src/a b.py:1 no blanks", Finding("src/a b.py", 1, "no blanks")),
        ("Makefile:7 \x1b[2Jgone", Finding("Makefile", 7, "[2Jgone")),
        ("b.py:3 there is no such file", None),
        ("a.py:0 there is no such line", None),
        ("a.py:3", None),
        ("At 12:30 it was late", None),
        ("see http://a.py:80 for more", None),
    ],
)
def test_a_finding_names_a_file_that_is_there_a_line_and_what_is_wrong(line: str, found: Finding | None) -> None:
    assert findings_in(line, FILES.__contains__) == (None if found is None else (found,))


@pytest.mark.parametrize("words", ["NO ISSUES FOUND", "Fine.\n\n**NO ISSUES FOUND**", "`NO ISSUES FOUND.`\n"])
def test_nothing_is_wrong_where_a_line_of_its_own_says_so(words: str) -> None:
    assert findings_in(words, FILES.__contains__) == ()


@pytest.mark.parametrize("words", ["", "Good.", "I would say NO ISSUES FOUND if I had looked.", "no issues found"])
def test_other_words_are_no_verdict(words: str) -> None:
    assert findings_in(words, FILES.__contains__) is None


def test_findings_count_whatever_else_is_said() -> None:
    assert findings_in("a.py:1 wrong\nNO ISSUES FOUND", FILES.__contains__) == (Finding("a.py", 1, "wrong"),)


def test_findings_are_bounded() -> None:
    found = findings_in("\n".join(f"a.py:{each} {'x' * 9999}" for each in range(1, 999)), FILES.__contains__)
    assert found is not None
    assert (len(found), max(len(each.text) for each in found)) == (50, 300)


@pytest.mark.parametrize(
    "forged",
    [
        None,
        {},
        {"base": "--output=x", "refused": -1, "findings": "x"},
        {"base": 3, "refused": "2", "findings": [1, {}]},
    ],
)
def test_what_somebody_else_has_written_into_the_record_of_reviews_is_nothing(forged: dict[str, object]) -> None:
    assert kept(forged) == ("", 0, ())


def test_a_forged_record_gets_no_escapes_into_a_prompt() -> None:
    _, _, findings = kept({"findings": ["a\x1b[2J\nb" * 1000] * 1000})
    assert len(findings) == 50
    assert all(each.isprintable() and len(each) <= 600 for each in findings)
    assert "\x1b" not in words_of(findings, "driver codex")


DONE = Plan(2, 2, None)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome(exit_signal=True, plan=DONE), ""),
        (Outcome(promised=True), ""),
        (Outcome(status=1, plan=DONE), "retry"),
        (Outcome(status=1, plan=DONE, limit=Limit("usage", None, "later")), "api_limit"),
    ],
)
def test_in_doubt_a_turn_is_followed_by_what_follows_where_nothing_is_done(outcome: Outcome, reason: str) -> None:
    policy: PlanPolicy[LoopState, Outcome] = PlanPolicy()
    now = datetime.now(UTC)
    assert policy.decide(LoopState(), outcome, Moment(now))[1].verdict is Verdict.COMPLETE
    decision = policy.decide(LoopState(), outcome, Moment(now, doubted=True))[1]
    assert (decision.verdict, decision.reason) == (Verdict.CONTINUE, reason)
    assert policy.begin(LoopState(), DONE, Moment(now, doubted=True))[1] == GO_ON
    assert policy.begin(LoopState(iteration=50), DONE, Moment(now, doubted=True))[1].reason == "max_iterations"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (RunOptions(check_every_turn=True), "--check-every-turn is about a check"),
        (RunOptions(check_minutes=2), "--check-minutes is about a check"),
        (RunOptions(review_every=2, check="true"), "--review-every is about a review"),
        (RunOptions(review="driver:codex@"), "--review 'driver:codex@'"),
        (RunOptions(check="a\0b"), "NUL"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: RunOptions, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        gates_of(options, {})


def test_the_environment_stands_for_options_that_nobody_gives() -> None:
    env = {"RALPH_BRIDGE_CHECK": "make test", "RALPH_BRIDGE_REVIEW": "driver:codex"}
    gates = gates_of(RunOptions(), env)
    assert gates is not None
    assert gates.shown == "check `make test` · review by driver codex"
    assert gates_of(RunOptions(check="", review=""), env) is None


def test_a_plain_loop_is_checked_before_its_first_turn_where_its_plan_is_done(tmp_path: Path) -> None:
    with examples.project(examples.EXAMPLES["plain"], tmp_path) as made:
        made.write(".ralph/fix_plan.md", "- [x] one\n")
        made.write(".ralph/@fix_plan.md", "- [x] one\n")
        made.turns(otherwise="touched; touch mended; say done")
        loop = made.start("--check", "test -e mended", "--max-iterations", "3")
        assert loop.finished() == 0, loop.said
        runs = (made.state / "logs/runs.jsonl").read_text().splitlines()
        checks = [(each["turn"], each["why"]) for each in map(json.loads, runs) if each["event"] == "checked"]
        assert checks == [(0, "ended with 1"), (1, "")], loop.said
        assert made.begun() == 1
