"""Entries of lists are opened again by the value that says that they are done, and by nothing else."""

from __future__ import annotations

import pytest

from bridge.loop.setups.prompted.task_lists import with_open

LISTS = {
    "tasks:\n- completed: yes # ?\n  title: a\n": "tasks:\n- completed: false # ?\n  title: a\n",
    'tasks:\n- {title: "a", status: done}\n': 'tasks:\n- {title: "a", status: "open"}\n',
    '[{"title": "a", "passes": null, "completed": true}]': '[{"title": "a", "passes": null, "completed": false}]',
}


@pytest.mark.parametrize("text", LISTS)
def test_a_task_is_opened_again_in_place(text: str) -> None:
    assert with_open(text, "a", name="x") == LISTS[text]
    assert with_open(LISTS[text], "a", name="x") == LISTS[text]
    assert with_open(text, "b", name="x") == text
