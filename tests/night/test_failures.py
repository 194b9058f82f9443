"""B3: failing turns are repeated after growing pauses, a provider's limit is waited out; neither ends the loop."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from bridge.base import timestamps
from bridge.loop.engine.lock import standing
from tests import examples
from tests.night.conftest import each_loop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Project

_MARGIN = 5
"""Seconds that are waited beyond a limit's reset."""


def test_the_pauses_after_failing_turns_grow(night: Project) -> None:
    night.turns("fail", "fail", "fail")
    loop = night.start("--max-iterations", "6", "--retry-delay", "0.2")
    assert loop.finished() == night.example.used_up, loop.said
    began = [float(night.of_turn(number, "began")) for number in (1, 2, 3, 4)]
    pauses = [after - before for before, after in pairwise(began)]
    assert all(pause >= least for pause, least in zip(pauses, (0.2, 0.4, 0.8), strict=True)), pauses
    assert night.begun() >= 6
    assert [each["result"] for each in night.turn_records()][:4] == ["failed"] * 3 + ["success"]


def test_how_long_it_waits_is_on_record(night: Project) -> None:
    night.turns("fail")
    loop = night.start("--max-iterations", "4", "--retry-delay", "1000")
    loop.until(lambda: standing(night.state).word == "waiting", "a pause")
    pause = night.record()["pause"]
    assert pause["reason"] == "retry"
    assert (timestamps.parse_iso(pause["until"]) or 0) > float(night.of_turn(1, "began")) + 900
    loop.process.terminate()
    assert loop.finished() == 143
    assert night.begun() == 1


def test_a_limit_is_waited_for_until_its_reset(night: Project) -> None:
    night.turns("limited 7200")
    loop = night.start("--max-iterations", "1")
    loop.until(lambda: standing(night.state).word == "waiting", "a pause")
    pause = night.record()["pause"]
    assert pause["reason"] == "api_limit"
    resets = int(night.of_turn(1, "resets"))
    assert resets <= (timestamps.parse_iso(pause["until"]) or 0) <= resets + _MARGIN + 2
    loop.process.terminate()
    assert loop.finished() == 143
    assert [each["result"] for each in night.turn_records() if each["result"] != "limit"] == []


@pytest.mark.slow
def test_behind_a_limit_it_goes_on_and_no_iteration_is_used_up(night: Project) -> None:
    night.turns("limited 1")
    loop = night.start("--max-iterations", "1")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() == 2
    assert float(night.of_turn(2, "began")) >= int(night.of_turn(1, "resets"))
    assert [each["result"] for each in night.turn_records()] == ["limit", "success"]
    assert [each["turn"] for each in night.turn_records()] == [1, 1]


def test_a_setup_s_own_rule_goes_first(tmp_path: Path) -> None:
    """ralph-loop gives up on an iteration whose MAX_RETRIES repetitions have failed, too."""
    with examples.project(examples.EXAMPLES["ralph-loop"], tmp_path) as night:
        night.turns(otherwise="fail")
        loop = night.start("--retry-delay", "0")
        assert loop.finished() == 4, loop.said
        assert night.begun() == 4
        assert [each["turn"] for each in night.turn_records()] == [1] * 4


@each_loop
def test_a_limit_with_an_end_that_a_cli_waits_for_itself_is_no_failure(night: Project) -> None:
    """Some print it and try again and again, or sit it out: the deadline ends them, and they have said nothing."""
    if night.example.agent:
        return
    retrying = '{"role":"meta","type":"turn.step.retrying","error_message":"429 %s","status_code":429}'
    line = retrying.replace("%s", "Usage limit reached. Please try again in 1 second.")
    night.turns(f"echo '{line}'; hang")
    words = ("--timeout", "0.02", "--max-iterations", "2", "--retry-delay", "0")
    loop = night.start(*words)
    assert loop.finished() == night.example.used_up, loop.said
    assert [each["result"] for each in night.turn_records()] == ["limit", "success", "success"], loop.said


@each_loop
def test_a_limit_without_an_end_that_a_cli_repeats_for_ever_is_one(night: Project) -> None:
    if night.example.agent:
        return
    words = '"error_message":"429 Usage limit reached.","status_code":429'
    night.turns(f'echo \'{{"role":"meta","type":"turn.step.retrying",{words}}}\'; hang')
    loop = night.start("--timeout", "0.02", "--max-iterations", "2", "--retry-delay", "0")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.turn_records()[0]["result"] == "timeout", loop.said
