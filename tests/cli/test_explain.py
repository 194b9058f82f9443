"""explain on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bridge.cli.app import run_app
from tests.cli.engine import engine

if TYPE_CHECKING:
    from tests.cli.engine import Engine

__all__ = ["engine"]


def test_explain_a_check(engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain", "rb012"]) == 0
    assert capfd.readouterr().out == (
        "RB012 Title of RB012\nfor drivers · runs the script\n"
        "error: the loop ends, hangs, or doesn't begin\ninfo: somebody else's loop\n\nWhy it matters.\n\n"
        "Bad:\n\n    exit 1\n\nGood:\n\n    return 1\n"
    )


def test_explain_as_json(engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain", "RB012", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document == {
        "schema": 1, "code": "RB012", "title": "Title of RB012", "applies": ["driver"], "phase": "behaviour",
        "severity": "error", "harm": "the loop ends, hangs, or doesn't begin",
        "also": {"info": "somebody else's loop"}, "why": "Why it matters.", "bad": "exit 1", "good": "return 1",
        "mends": [],
    }  # fmt: skip


def test_explain_lists_all(engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["RB001", "RB012", "RB013", "RB030"]
    assert run_app(["explain", "--json"]) == 0
    assert len(json.loads(capfd.readouterr().out)["checks"]) == 4


@pytest.mark.parametrize(("code", "meant"), [("RB12", "RB012"), ("30", "RB030"), ("RB0I2", "RB012")])
def test_explain_guesses_what_was_meant(
    engine: Engine, code: str, meant: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["explain", code]) == 2
    assert f"Did you mean {meant}?" in capfd.readouterr().err
