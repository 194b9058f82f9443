"""A loop that gets nowhere: which turns count, what wins, and what is said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.git.tree import TreeState
from bridge.loop.engine.loop_settings import LoopSettings
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import GO_ON, Decision, Limits, Verdict
from bridge.loop.engine.standstill import IDLE, REASONS, SAME, Standstill, WorkWatch, last_words, sentence
from bridge.scripts.stream.analysis import Analysis, Limit, PermanentFailure, PermanentReason

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = Limits(max_idle=3)
LOCKED_OUT = Outcome(
    status=1, analysis=Analysis(permanent=PermanentFailure(PermanentReason.NOT_LOGGED_IN, "Please run /login"))
)
WELL, FAILED = Outcome(), Outcome(status=1)
LIMITED = Outcome(status=1, limit=Limit("rate"))
AGAIN = Decision(Verdict.CONTINUE, "retry", wait=5.0)


def ends(*turns: tuple[Outcome, bool | None], limits: Limits = LIMITS) -> str:
    """Why the loop ends behind these turns, or ''."""
    stand, decision = Standstill(), GO_ON
    for outcome, worked in turns:
        stand = stand.after(outcome, worked)
        decision = stand.judge(AGAIN if outcome.failure else GO_ON, outcome, limits, "claude")
    return decision.reason if decision.verdict is Verdict.INCOMPLETE else ""


IDLE_TURN, WORK, FAILURE, LIMIT, LOCK = (
    (WELL, False),
    (WELL, True),
    (FAILED, False),
    (LIMITED, False),
    (LOCKED_OUT, False),
)


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        ([IDLE_TURN] * 2, ""),
        ([IDLE_TURN] * 3, IDLE),
        ([IDLE_TURN, IDLE_TURN, WORK, IDLE_TURN, IDLE_TURN], ""),
        ([IDLE_TURN, FAILURE, LIMIT, IDLE_TURN, FAILURE], ""),
        ([IDLE_TURN, FAILURE, LIMIT, IDLE_TURN, FAILURE, IDLE_TURN], IDLE),
        ([IDLE_TURN, IDLE_TURN, (WELL, None), IDLE_TURN], ""),
        ([FAILURE] * 5, ""),
        ([FAILURE] * 6, SAME),
        ([WORK, *[FAILURE] * 9], ""),
        ([LOCK], ""),
        ([LOCK] * 2, "not_logged_in"),
        ([LOCK, FAILURE, LOCK], ""),
        ([LOCK, WORK, LOCK], ""),
    ],
)
def test_which_turns_count(turns: list[tuple[Outcome, bool | None]], why: str) -> None:
    assert ends(*turns) == why


@pytest.mark.parametrize(("most", "found"), [(0, None), (1, True)])
def test_a_plan_that_got_on_is_work_as_soon_as_idle_turns_count(
    most: int, found: bool | None, tmp_path: Path
) -> None:
    seen = iter([(0, 2), (1, 2)])
    settings = LoopSettings(project=tmp_path, limits=Limits(max_idle=most))
    watch = WorkWatch(settings, lambda: next(seen), TreeState())
    turn: Any = SimpleNamespace(plan=None, changes=None)  # what there is of one where git can't be asked
    assert watch.worked(turn, Outcome()) is found


def test_zero_is_never() -> None:
    never = Limits(max_idle=0, permanent_failures=0)
    assert ends(*[IDLE_TURN] * 20, limits=never) == ends(*[LOCK] * 20, limits=never) == ""


def test_what_a_policy_ends_stays_ended_so() -> None:
    stand = Standstill(permanent=2, idle=9)
    done = Decision(Verdict.COMPLETE, "plan_complete")
    breaker = Decision(Verdict.INCOMPLETE, "stagnation_detected", "circuit breaker open")
    spent = Decision(Verdict.INCOMPLETE, "max_iterations", "all 2 iterations are used up")
    for outcome in (WELL, LOCKED_OUT):
        assert stand.judge(done, outcome, LIMITS, "claude") is done
        assert stand.judge(breaker, outcome, LIMITS, "claude") is breaker
    assert stand.judge(spent, WELL, LIMITS, "claude") is spent
    assert stand.judge(spent, LOCKED_OUT, LIMITS, "claude").status == 4


@pytest.mark.parametrize("reason", list(PermanentReason))
@pytest.mark.parametrize("cli", ["claude", "codex", "opencode", "copilot", "cursor-agent", "gemini", "mine"])
def test_each_sentence_has_the_words_and_a_next_step(reason: PermanentReason, cli: str) -> None:
    said = sentence(PermanentFailure(reason, "its own words"), f"/opt/bin/{cli}".rpartition("/")[2])
    assert said.startswith(cli)
    assert ": its own words · next: " in said
    assert reason in REASONS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SQLite or Postgres?", 'the assistant asks: "SQLite or Postgres?"'),
        ("Hm.\n**Shall I use v1.2 of it?**\n\nTell me.", 'the assistant asks: "Shall I use v1.2 of it?"'),
        ("First? Then: second one?", 'the assistant asks: "Then: second one?"'),
        ("See https://x.test/a?b=c for more.", 'its last words: "See https://x.test/a?b=c for more."'),
        ("I looked. Nothing to do.", 'its last words: "Nothing to do."'),
        ("Which one?\n---RALPH_STATUS---\nSTATUS: ?\n---END_RALPH_STATUS---", 'the assistant asks: "Which one?"'),
        ("\u3042\uff1f", 'the assistant asks: "\u3042\uff1f"'),
        ("\x1b[2JReally?", 'the assistant asks: "[2JReally?"'),
        ("", ""),
        ("?" * 5000, ""),
    ],
)
def test_last_words(text: str, said: str) -> None:
    assert last_words(text) == said
