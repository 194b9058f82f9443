"""Exit signals, denials, the plan against the claim."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.loop.engine.plan import Plan
from bridge.loop.setups.bmalph.handler import track
from bridge.loop.setups.bmalph.state_files import collapse_plan
from bridge.loop.setups.dot_ralph.exits import (
    ExitSignals,
    exit_reason,
    read_signals,
    update_signals,
    write_signals,
)
from bridge.scripts.stream.analysis import Analysis

DONE, OPEN, NO_BOXES = Plan(2, 2, None), Plan(1, 2, "b"), Plan(0, 0, None)
COMPLETE: dict[str, Any] = {"has_completion_signal": True, "exit_signal": True}


@pytest.mark.parametrize(
    ("signals", "plan", "exit_signal", "reason"),
    [
        (ExitSignals(), None, True, None),
        (ExitSignals((1, 2)), None, False, None),
        (ExitSignals((1, 2, 3)), None, False, "test_saturation"),
        (ExitSignals((), (1,)), OPEN, False, None),
        (ExitSignals((), (1, 5)), OPEN, False, "completion_signals"),
        (ExitSignals((), (), (1, 2, 3, 4, 5)), None, False, "safety_circuit_breaker"),
        (ExitSignals((), (), (1, 2)), None, True, "project_complete"),
        (ExitSignals((), (), (1, 2)), None, False, None),
        (ExitSignals(), DONE, False, "plan_complete"),
        (ExitSignals(), OPEN, True, None),
        (ExitSignals(), NO_BOXES, True, None),
        (ExitSignals((1, 2, 3), (1, 2), (1, 2, 3, 4, 5)), DONE, True, "test_saturation"),
        (ExitSignals((), (1, 2), (1, 2, 3, 4, 5)), DONE, True, "completion_signals"),
    ],
)
def test_reasons_in_order(signals: ExitSignals, plan: Plan | None, exit_signal: bool, reason: str | None) -> None:
    assert exit_reason(signals, plan, exit_signal=exit_signal) == reason


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, ExitSignals((1,), (1,), (1,))),
        ({"is_test_only": True}, ExitSignals((1, 9), (1,), (1,))),
        ({"is_test_only": True, "has_progress": True}, ExitSignals((1, 9), (1,), (1,))),
        ({"has_progress": True}, ExitSignals((), (1,), (1,))),
        ({"has_completion_signal": True}, ExitSignals((1,), (1, 9), (1,))),
        (COMPLETE, ExitSignals((1,), (1, 9), (1, 9))),
        ({**COMPLETE, "has_permission_denials": True}, ExitSignals((1,), (1,), (1,))),
        ({**COMPLETE, "has_progress_tracking_mismatch": True}, ExitSignals((1,), (1,), (1,))),
    ],
)
def test_updates(fields: dict[str, Any], wanted: ExitSignals) -> None:
    before = ExitSignals((1,), (1,), (1,))
    assert update_signals(before, Analysis(loop_number=9, **fields)) == wanted


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20))
def test_arrays_roll(loops: list[tuple[bool, bool]]) -> None:
    signals = ExitSignals()
    for number, (tests, done) in enumerate(loops):
        found = Analysis(loop_number=number, is_test_only=tests, has_completion_signal=done, exit_signal=done)
        signals = update_signals(signals, found)
    wanted = [number for number, (_, done) in enumerate(loops) if done][-5:]
    assert list(signals.done_signals) == list(signals.completion_indicators) == wanted
    assert len(signals.test_only_loops) <= 5
    assert read_signals(write_signals(signals)) == signals


def test_the_file() -> None:
    assert read_signals(json.dumps({"done_signals": [*range(9)]})) == ExitSignals((), (4, 5, 6, 7, 8))
    assert write_signals(ExitSignals((1,))).startswith(
        '{\n  "test_only_loops": [\n    1\n  ],\n  "done_signals": []'
    )


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"done_signals": 3}', '{"done_signals": ["a", true, null]}', b"\xff"]
)
def test_damaged_signals_are_empty(text: str | bytes | None) -> None:
    assert read_signals(text) == ExitSignals()
    assert not read_signals(text)


DENIED = Analysis(
    has_permission_denials=True, permission_denial_count=1, denied_commands=("Write",), has_completion_signal=True
)


def test_denials_that_are_dealt_with_leave_nothing() -> None:
    assert DENIED.denials_handled() == Analysis()


@pytest.mark.parametrize(
    ("claimed", "before", "after", "delta", "mismatch"),
    [
        (1, 2, 3, 1, False),
        (0, 2, 2, 0, False),
        (0, 2, 3, 1, True),
        (1, 2, 2, 0, True),
        (2, 2, 4, 2, True),
        (-1, 3, 2, -1, True),
    ],
)
def test_claim_and_plan(claimed: int, before: int, after: int, delta: int, mismatch: bool) -> None:
    assert track(claimed, before, after) == (delta, mismatch)


def test_a_mismatch_takes_back_completion() -> None:
    found = Analysis(**COMPLETE).tracked(2, mismatch=True)
    assert (found.exit_signal, found.has_completion_signal, found.fix_plan_completed_delta) == (False, False, 2)
    assert Analysis(**COMPLETE).tracked(1, mismatch=False).exit_signal


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- [x] Story 1.1: a\n  > b\n  > c\n- [ ] x\n", "- [x] Story 1.1: a\n- [ ] x\n"),
        ("  - [X] Story 2: a\r\n\t> b\r\n\r\n  > c\r\n", "  - [X] Story 2: a\r\n\r\n  > c\r\n"),
        ("- [ ] Story 1.1: a\n  > b\n", "- [ ] Story 1.1: a\n  > b\n"),
        ("- [x] Task: a\n  > b\n", "- [x] Task: a\n  > b\n"),
        ("- [x] Story 1: a\n> b\n", "- [x] Story 1: a\n> b\n"),
        ("- [x] Story 1: a\n  - c\n  > b", "- [x] Story 1: a\n  - c\n  > b"),
        ("- [x] Story 1: a\n  > b", "- [x] Story 1: a\n"),
    ],
)
def test_collapse(text: str, wanted: str) -> None:
    assert collapse_plan(text) == wanted


@given(st.text(alphabet="-[]xX >Story1\n\r\t\x85\u2028", max_size=80))
def test_collapsing_drops_nothing_but_quotes(text: str) -> None:
    once = collapse_plan(text)
    assert collapse_plan(once) == once
    lost = [line for line in text.split("\n") if line not in once.split("\n")]
    assert all(line.lstrip(" \t").startswith(">") for line in lost)
