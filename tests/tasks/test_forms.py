"""Tasks copied into another form, and read back."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.loop.tasks.checkboxes import from_plan
from bridge.loop.tasks.plans import from_stories
from bridge.loop.tasks.task import Task, new_id, one_line
from bridge.loop.tasks.task_formats import written
from bridge.loop.tasks.task_lines import from_yaml
from bridge.loop.tasks.task_order import ordered

READ = {"plan": from_plan, "prd": from_stories, "yaml": from_yaml}
MARKUP = [
    "- [ ] a box",
    "  1. [x] another",
    "## a heading",
    "```",
    "key: value",
    "- item",
    "---",
    "#",
    "",
    "<!--",
    "-->",
    "`",
]
WORDS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=120),
    st.lists(st.sampled_from([*MARKUP, "\\", " ", "word", "\r", "\u2028"]), max_size=5).map("".join),
)
LINES = st.one_of(WORDS, st.sampled_from(MARKUP))


@st.composite
def some_tasks(draw: st.DrawFn) -> list[Task]:
    titles = draw(st.lists(WORDS.map(one_line).filter(bool), min_size=1, max_size=6))
    tasks: list[Task] = []
    for number, title in enumerate(titles, 1):
        needs = draw(st.sets(st.sampled_from(tasks), max_size=3)) if tasks else set()
        body = "\n".join([title, *draw(st.lists(LINES, max_size=4))])
        name = new_id(number, draw(st.text(string.ascii_letters, max_size=9)), 6)
        ids = tuple(sorted(each.id for each in needs))
        tasks.append(Task(name, title, body, ids, priority=draw(st.sampled_from([None, 1.0, 2.0]))))
    return ordered(tasks)


def shape(tasks: list[Task]) -> list[tuple[str, set[int]]]:
    """Titles in order, and what each needs, by number."""
    number = {each.id: at for at, each in enumerate(tasks)}
    return [(each.title, {number[need] for need in each.needs}) for each in tasks]


@pytest.mark.parametrize("form", READ)
@given(tasks=some_tasks())
@settings(max_examples=60, deadline=None)
def test_titles_needs_and_order_survive(form: str, tasks: list[Task]) -> None:
    again = shape(ordered(READ[form](written(tasks, form), "a copy")))
    if form == "plan":  # which has no needs but its order
        assert [title for title, _ in again] == [title for title, _ in shape(tasks)]
    else:
        assert again == shape(tasks)
