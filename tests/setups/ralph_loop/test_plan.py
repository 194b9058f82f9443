"""The plan's slices: what the setup's own filter script prints."""

from __future__ import annotations

import pytest

from bridge.loop.setups.ralph_loop import plan
from tests.setups.ralph_loop.conftest import PLAN

MIXED = """\
# Title

Plan Type: **process**
**Plan Command:** `ralph plan --process`

## Done

### Task 1: a
**Status:** complete

### Task 2: b
Status: complete

## Notes

Nothing to do here.

## Open

### Task 3: c
Status: `blocked`
Depends on: none

### Task 4: d
**Status:** planned (soon)
**Depends on:** Task 1, Task 3

### Task 5: e
**Status:** planned
**Depends on:** Task 2

Text of e.

### Task 6: f

## Later

### Task 7: g
**Status:** planned
"""


def test_header() -> None:
    assert plan.header(MIXED) == MIXED[: MIXED.index("### Task 1")]
    assert plan.header("no tasks\nat all") == "no tasks\nat all\n"
    assert plan.header("") == ""


def test_overview() -> None:
    assert plan.overview(plan.parse(MIXED)) == (
        "## Done (2/2 complete)\n"
        "## Notes\n"
        "## Open\n"
        "  20:### Task 3: c\n"
        "  21:**Status:** blocked\n"
        "  22:Depends on: none\n"
        "  24:### Task 4: d\n"
        "  25:**Status:** planned\n"
        "  26:**Depends on:** Task 1, Task 3\n"
        "  28:### Task 5: e\n"
        "  29:**Status:** planned\n"
        "  30:**Depends on:** Task 2\n"
        "  34:### Task 6: f\n"
        "  35:**Status:** planned\n"
        "## Later\n"
        "  38:### Task 7: g\n"
        "  39:**Status:** planned\n"
    )


@pytest.mark.parametrize(("per_section", "cut"), [(6, False), (7, True)])
def test_overview_of_a_large_plan(per_section: int, cut: bool) -> None:
    text = ""
    for section in range(5):
        text += f"## S{section}\n"
        for task in range(per_section):
            text += f"### Task {section * 10 + task}: x\n**Status:** {'blocked' if task == 0 else 'planned'}\n"
    shown = plan.overview(plan.parse(text)).splitlines()
    assert ("## S2" in shown, "## S3" in shown) == (True, not cut)
    assert (shown[-1] == "(+2 more sections with 12 planned tasks)") is cut


def test_select_takes_the_first_planned_task_whose_dependencies_are_complete() -> None:
    chosen = plan.select(plan.parse(MIXED))
    assert chosen is not None
    assert chosen.task == "### Task 5: e\n**Status:** planned\n**Depends on:** Task 2\n\nText of e."
    assert chosen.adjacent == (
        "### Task 3: c\n**Status:** blocked\nDepends on: none\n"
        "### Task 4: d\n**Status:** planned\n**Depends on:** Task 1, Task 3\n"
        "### Task 6: f\n**Status:** planned\n"
        "### Task 7: g\n**Status:** planned"
    )


def test_select_does_not_look_at_later_sections() -> None:
    blocked = plan.parse(MIXED.replace("planned", "blocked", 3).replace("### Task 6: f", ""))
    assert plan.select(blocked) is None


def test_complete() -> None:
    assert plan.parse(PLAN.replace("planned", "complete")).complete
    assert not plan.parse(PLAN).complete
    assert not plan.parse("# nothing yet\n").complete
    assert plan.select(plan.parse(PLAN.replace("planned", "complete"))) is None


@pytest.mark.parametrize(
    ("depends", "needs"),
    [("Task 1, Task 12", ["1", "12"]), ("none", []), ("Task 1.2.", ["1.2"]), ("task 3", [])],
)
def test_dependencies(depends: str, needs: list[str]) -> None:
    (task,) = plan.parse(f"### Task 9: x\n**Depends on:** {depends}\n").tasks
    assert task.needs == needs


def test_type_and_command() -> None:
    assert plan.plan_type(MIXED) == "process"
    assert plan.plan_command(MIXED) == "ralph plan --process"
    assert plan.plan_type("") == plan.plan_command("") == ""


def test_carriage_returns_and_a_missing_last_newline() -> None:
    (task,) = plan.parse("### Task 1: x\r\n**Status:** complete\r").tasks
    assert task.complete
