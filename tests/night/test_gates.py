"""A loop is complete when its check says so, too: in every kind of setup."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.examples import Project

CHECK = "echo checked >> $KEPT/checks; test -e mended || { echo 'nothing is mended' >&2; false; }"
"""Succeeds as soon as a turn has made the file; says how often it was run."""


def checks(night: Project) -> int:
    """How often the check was run."""
    path = night.kept / "checks"
    return len(path.read_text().splitlines()) if path.exists() else 0


def noted(night: Project) -> list[str]:
    """Why each check has failed, as the records of the run have it."""
    path = night.state / night.example.kind.logs / "runs.jsonl"
    lines = map(json.loads, path.read_text().splitlines())
    return [line["why"] for line in lines if line["event"] == "checked"]


def told(night: Project) -> str:
    """The program keeps what it is told, on stdin or in its arguments."""
    return 'printf "%s\\n" "$@" > "$kept/turn.$turn/told"; [ -t 0 ] || cat >> "$kept/turn.$turn/told" '


def done(night: Project) -> str:
    return f"touched; {night.example.done}"


def test_a_loop_that_calls_itself_complete_goes_on_until_its_check_succeeds(night: Project) -> None:
    keep = told(night)
    night.turns(
        *(f"{keep}; {done(night)}" for _ in range(2 if night.example.twice else 1)),
        f"{keep}; touch mended; {done(night)}",
        otherwise=f"{keep}; {done(night)}",
    )
    loop = night.start("--check", CHECK, "--max-iterations", "6", KEPT=str(night.kept))
    assert loop.finished() == 0, loop.said
    assert noted(night) == ["ended with 1", ""], loop.said
    refused = 3 if night.example.twice else 2
    assert "nothing is mended" in night.of_turn(refused, "told"), loop.said
    assert "nothing is mended" not in night.of_turn(refused - 1, "told")
    assert night.status()["ended"]["reason"] == night.example.ended, night.status()
    night.readable()


def test_a_check_that_goes_on_failing_ends_no_loop_as_complete_and_makes_no_further_turns(night: Project) -> None:
    night.turns(otherwise=done(night))
    loop = night.start("--check", CHECK, "--max-iterations", "3", "--retry-delay", "0", KEPT=str(night.kept))
    assert loop.finished() == 1, loop.said
    assert night.begun() == 3, loop.said
    assert 1 <= checks(night) <= 3
    assert "fails: it ended with 1" in night.status()["ended"]["detail"], night.status()
    night.readable()
