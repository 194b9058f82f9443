"""explain on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bridge.cli.app import run_app
from bridge.scripts.contract import agent_contract, driver_contract, provider_contract
from tests.cli.engine import engine

if TYPE_CHECKING:
    from tests.cli.engine import Engine

__all__ = ["engine"]
HOOKS = [*driver_contract().hooks, *agent_contract().hooks, *provider_contract().hooks]


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
    checks, _, hooks = capfd.readouterr().out.partition("\n\n")
    assert [line.split()[0] for line in checks.splitlines()] == ["RB001", "RB012", "RB014", "RB030"]
    assert [line.split() for line in hooks.splitlines()][-1] == ["agent_NAME_has_capability", "required"]
    assert run_app(["explain", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (len(document["checks"]), len(document["hooks"])) == (4, len(HOOKS))


@pytest.mark.parametrize("hook", HOOKS)
def test_explain_a_hook(hook: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain", hook]) == 0
    page = capfd.readouterr().out
    assert all(part in page for part in (f"{hook} · a", "answers ", "without it ", "\nBad: RB", "\nGood:\n"))
    assert f"\n    {hook.replace('_NAME_', '_my_provider_')}() {{\n" in page
    assert run_app(["explain", hook, "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["hook"] == hook
    assert document["bad"] != document["good"]
    assert document["checks"]


def test_explain_a_hook_with_its_clause(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain", "agent_format_display"]) == 0
    page = capfd.readouterr().out
    assert page.startswith("agent_format_display · a required hook of agents\n\nRead events on stdin and print")
    assert (
        "  without it  the pipeline ends with status 127, and every iteration counts as\n"
        "              failed\n\nBad: RB042 agent_format_display works line by line\n"
    ) in page
    assert "  RB182  The display is line-buffered\n" in page


def test_explain_guesses_a_hook(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain", "driver_bild_command"]) == 2
    assert "Did you mean driver_build_command?" in capfd.readouterr().err


@pytest.mark.parametrize(("code", "meant"), [("RB12", "RB012"), ("30", "RB030"), ("RB0I2", "RB012")])
def test_explain_guesses_what_was_meant(
    engine: Engine, code: str, meant: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["explain", code]) == 2
    assert f"Did you mean {meant}?" in capfd.readouterr().err
