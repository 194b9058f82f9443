"""A stage from outside: one class and its place in the list is all that a feature of the loop needs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.loop.engine import runner, stages
from bridge.loop.engine.events import IterationEnded, LoopEnded, Notice
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.engine.stages.stage import Stage
from tests.test_loop import Project, make, surroundings

if TYPE_CHECKING:
    from collections.abc import Generator

    import pytest

    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.stages.stage import Events, TurnReport

__all__ = ["surroundings"]  # a fixture


class Curfew(Stage):
    """No turn follows one that has changed nothing."""

    def __init__(self, loop: LoopContext[Any]) -> None:
        super().__init__(loop)
        self._over = False
        loop.bars.append(lambda _tally: Decision(Verdict.INCOMPLETE, "curfew") if self._over else None)

    def words(self) -> str:
        return "It is late."

    def counted(self, report: TurnReport, outcome: Outcome) -> None:
        del outcome
        self._over = not report.worked

    def after_turn(self, report: TurnReport, outcome: Outcome, decision: Decision) -> Events:
        del outcome, decision
        yield f"turn {report.turn.request.number} was the last"

    def may_end(self, decision: Decision) -> Generator[LoopEvent | str, None, Decision]:
        yield "good night"
        return decision


def test_a_stage_is_a_class_and_its_place_in_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "STAGES", (*stages.STAGES, Curfew))
    monkeypatch.setattr(runner, "stages_of", stages.stages_of)
    (tmp_path / "project").mkdir()
    project: Project = make(tmp_path / "project", "plain")
    project.write("bin/my-cli", '#!/bin/sh\nprintf "%s\\n" "$@" > .ralph/logs/asked\n', 0o755)
    project.write(
        "mine.sh",
        'driver_name() { echo mine; }\ndriver_display_name() { echo "My Own"; }\n'
        "driver_cli_binary() { echo my-cli; }\ndriver_valid_tools() { VALID_TOOL_PATTERNS=(Bash); }\n"
        'driver_build_command() { CLAUDE_CMD_ARGS=(my-cli "$(cat "$1")" "$2"); }\n'
        "driver_supports_live_output() { return 1; }\n",
    )
    subprocess.run(["git", "add", "-A"], cwd=project.path, check=True)
    events = list(project.open())
    end = events[-1]
    assert isinstance(end, LoopEnded)
    assert (end.verdict, end.reason) == (Verdict.INCOMPLETE, "curfew")
    assert [type(each) for each in events].count(IterationEnded) == 1
    told = [str(each) for each in events if isinstance(each, Notice)]
    assert any("turn 1 was the last" in each for each in told)
    assert any("good night" in each for each in told)
    assert "It is late." in (project.path / ".ralph/logs/asked").read_text()


def test_the_runner_knows_none_of_them_by_name() -> None:
    for module in ("runner.py", "iterations.py", "context.py"):
        text = (Path(runner.__file__).parent / module).read_text()
        assert not [each.__name__ for each in stages.STAGES if re.search(rf"\b{each.__name__}\b", text)]
