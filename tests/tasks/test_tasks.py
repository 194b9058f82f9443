"""What a swarm is to do, read from text."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge import ConfigurationError
from bridge.loop.engine.plan import plan_items, with_only, with_ticks
from bridge.loop.setups import kinds
from bridge.loop.tasks.checkboxes import PlanFormat, from_plan
from bridge.loop.tasks.task import Task, check
from bridge.loop.tasks.task_lines import from_lines, from_yaml

PLAN = """# Plan

Some words.

## Parser
- [x] read
- [ ] write the lexer
  with care
  - [ ] strings
- [ ] write the parser

## Docs
- [x] an old one
  - [ ] its rest
```
- [ ] no task to any controller
```
- [ ] say how
"""
IMPLEMENTATION = """# Plan
Plan Type: process

## Phase 1
### Task 1.1: read
**Status:** complete
### Task 1.2: the lexer
**Status:** planned
**Depends on:** Task 1.1
With care.
### Task 1.3: the tokens
Status: planned
**Depends on:** Task 1.2

## Phase 2
### Task 2.1: the parser
### Task 2.2: the grammar
**Status:** blocked
### Task 2.3: the tree
**Depends on:** Task 2.2

## Phase 3
### Task 3.1: the docs
"""


def of_kind(name: str, folder: Path | None = None) -> PlanFormat:
    return PlanFormat(kinds()[name].plan, folder or Path())


def test_the_planned_tasks_of_an_implementation_plan() -> None:
    """Sections build on each other; what is blocked, what needs it, and all sections behind it aren't begun."""
    found = of_kind("ralph-loop").tasks(IMPLEMENTATION, "plan")
    assert [(each.title, each.needs) for each in found] == [
        ("Task 1.2: the lexer", ()),
        ("Task 1.3: the tokens", ("01-task-1-2-the-lexer",)),
        ("Task 2.1: the parser", ("01-task-1-2-the-lexer", "02-task-1-3-the-tokens")),
    ]
    assert found[0].prompt.endswith("Task 1.1\nWith care.")
    assert found[0].boxes == ("### Task 1.2: the lexer",)
    sections = of_kind("ralph-loop").tasks(IMPLEMENTATION, "plan", by_heading=True)
    assert [(each.title, each.needs, len(each.boxes)) for each in sections] == [
        ("Phase 1", (), 2),
        ("Phase 2", ("01-phase-1",), 1),
    ]


def test_a_plan_without_such_tasks_is_one_of_boxes() -> None:
    assert [each.title for each in of_kind("ralph-loop").tasks("- [ ] one\n", "plan")] == ["one"]
    with pytest.raises(ConfigurationError, match="no task can be started"):
        of_kind("ralph-loop").tasks("### Task 1: a\nStatus: complete\n", "plan")


def test_a_status_becomes_complete() -> None:
    done = of_kind("ralph-loop").done
    text, left = done(IMPLEMENTATION, ["### Task 1.3: the tokens", "### Task 2.1: the parser", "### Task 9"])
    assert left == ["### Task 9"]
    assert "the tokens\nStatus: complete\n" in text
    assert "the parser\n**Status:** complete\n### Task 2.2" in text
    assert len(text.splitlines()) == len(IMPLEMENTATION.splitlines()) + 1


def test_wiggum_plans_have_boxes_behind_any_bullet_and_none_in_fences() -> None:
    text = "* [ ] one\n  more\n1. [ ] two\n```\n- [ ] no\n```\n+ [x] done\n- [ ] three\r\n"
    plan = of_kind("wiggum")
    assert [each.boxes for each in plan.tasks(text, "plan")] == [("one",), ("two",), ("three",)]
    assert plan.only(text, Task("two", "two", "two", boxes=("two",)), "") == "1. [ ] two\n```\n- [ ] no\n```\n"
    assert plan.done(text, ["three", "no"]) == (text.replace("[ ] three", "[x] three"), ["no"])


def test_optional_boxes_of_a_frankbria_plan_are_nobody_s_task(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralphrc").write_text('OPTIONAL_SECTIONS="Some day"\n')
    plan = of_kind("frankbria", tmp_path)
    text = "- [ ] one\n## Some day\n- [ ] two\n### Deeper\n- [ ] three\n## Now\n- [ ] four\n"
    assert [each.title for each in plan.tasks(text, "plan")] == ["one", "four"]


def test_each_open_box_is_a_task() -> None:
    assert from_plan(PLAN, "plan") == [
        Task(
            "01-write-the-lexer",
            "write the lexer",
            "- [ ] write the lexer\n  with care\n  - [ ] strings",
            boxes=("write the lexer", "strings"),
        ),
        Task("02-write-the-parser", "write the parser", "- [ ] write the parser", boxes=("write the parser",)),
        Task("03-its-rest", "its rest", "- [ ] its rest", boxes=("its rest",)),
        Task("04-say-how", "say how", "- [ ] say how", boxes=("say how",)),
    ]


def test_the_boxes_below_a_heading_are_one_task() -> None:
    found = from_plan(PLAN, "plan", by_heading=True)
    assert [(each.id, each.title, each.boxes) for each in found] == [
        ("01-parser", "Parser", ("write the lexer", "strings", "write the parser")),
        ("02-docs", "Docs", ("its rest", "say how")),
    ]


def test_a_plan_for_one_task_has_no_other_box() -> None:
    assert with_only(PLAN, ["write the lexer", "strings"]) == (
        "# Plan\n\nSome words.\n\n## Parser\n- [ ] write the lexer\n  with care\n  - [ ] strings\n"
        "\n## Docs\n```\n- [ ] no task to any controller\n```\n"
    )


def test_only_the_boxes_of_the_task_are_ticked() -> None:
    ticked, left = with_ticks(PLAN, ["strings", "no such"])
    assert ticked == PLAN.replace("- [ ] strings", "- [x] strings")
    assert left == ["no such"]
    assert sum(each.ticked for each in plan_items(ticked)) == 2


def test_of_two_boxes_with_one_text_one_is_ticked() -> None:
    assert with_ticks("- [ ] a\n- [ ] a\n", ["a"])[0] == "- [x] a\n- [ ] a\n"


def test_a_plan_without_an_open_box_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no box is open"):
        from_plan("- [x] done\n", "fix_plan.md")


def test_lines_are_tasks() -> None:
    found = from_lines("# notes\nWrite the lexer\n\n  Ünïcode änd more words than fit in the name\n", "tasks.txt")
    assert [(each.id, each.prompt) for each in found] == [
        ("01-write-the-lexer", "Write the lexer"),
        ("02-unicode-and-more-words-than", "Ünïcode änd more words than fit in the name"),
    ]
    with pytest.raises(ConfigurationError, match=r"tasks\.txt: no task"):
        from_lines("# nothing\n", "tasks.txt")


def test_yaml_has_ids_and_needs() -> None:
    text = "tasks:\n- id: lexer\n  prompt: |\n    Write it.\n    With tests.\n"
    text += "- {prompt: Parse, needs: lexer}\n- Just do it\n"
    assert from_yaml(text, "t.yaml") == [
        Task("lexer", "Write it.", "Write it.\nWith tests."),
        Task("02-parse", "Parse", "Parse", ("lexer",)),
        Task("03-just-do-it", "Just do it", "Just do it"),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {id: a b, prompt: x}", "t.yaml:1: id 'a b' can't name a branch"),
        ("- {id: a.lock, prompt: x}", "t.yaml:1: id 'a.lock' can't name a branch"),
        ("- {id: a..b, prompt: x}", "t.yaml:1: id 'a..b' can't name a branch"),
        ("- prompt: x\n- needs: y\n", "t.yaml:2: `prompt` is missing"),
        ("- prompt: x\n  need: y\n", "t.yaml:1: unknown key 'need' Did you mean needs?"),
        ("- {id: a, prompt: x, needs: [b]}\n- {id: bb, prompt: x}", "t.yaml:1: a needs 'b', which is no task"),
        ("- {id: a, prompt: x}\n- {id: A, prompt: x}", "t.yaml:2: id 'A' comes twice"),
        ("- {id: a, prompt: x, needs: [b]}\n- {id: b, prompt: x, needs: [a]}", "wait for each other: a → b → a"),
        ("- {id: a, prompt: x, needs: [a]}", "wait for each other: a → a"),
        ("- [", "t.yaml:2: no YAML"),
        ("- {prompt: x, id: 2001-99-99}", "t.yaml: no YAML: month must be in 1..12"),
        (f"- {'9' * 5000}", "t.yaml: no YAML: Exceeds the limit"),
        ("text", "t.yaml: expected a list of tasks"),
        ("- 3", "t.yaml:1: a task is a mapping"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        from_yaml(text + "\n", "t.yaml")
    assert told in str(caught.value)


def test_tasks_of_a_program_are_checked_alike() -> None:
    with pytest.raises(ConfigurationError, match="can't name a branch"):
        check([Task("../up", "x", "x")])
