"""What `tasks list` shows."""

from __future__ import annotations

import os
import pty
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.cli._flow import cut
from bridge.cli.tasks import ranges, table
from bridge.loop.tasks.task import Task
from tests.command import MAIN

if TYPE_CHECKING:
    from pathlib import Path

TASKS = [
    Task("T001", "Read names", "", priority=1.0, labels=("US1", "api")),
    Task("T002", "Namen über Zeilen lesen, 日本語の名前も", "", needs=("T001",), priority=2.5),
    Task("T003", "Print \x1b]52;c;cm0=\x07\u202ethem", "", needs=("T001", "T002"), labels=("日本",)),
]


def test_a_table_has_the_columns_that_say_something() -> None:
    assert table(TASKS) == [
        "   task  priority  needs  labels    title",
        "1  T001  1                US1, api  Read names",
        "2  T002  2.5       1                Namen über Zeilen lesen, 日本語の名前も",
        "3  T003            1-2    日本      Print ]52;c;cm0= them",
    ]
    assert table([Task("a", "Do a", "")]) == ["   task  title", "1  a     Do a"]


@pytest.mark.parametrize("width", [60, 64, 65])
def test_titles_are_cut_where_a_line_ends(width: int) -> None:
    lines = table(TASKS, width)
    assert all(cut(line, width) == line for line in lines)
    assert lines[1].endswith("  Read names")
    assert lines[2].endswith("…")


def test_a_narrow_terminal_still_shows_the_beginning_of_each_title() -> None:
    assert "Namen über" in table(TASKS, 10)[2]


def test_many_needs_are_ranges() -> None:
    assert ranges([9, 1, 2, 3, 5, 8]) == "1-3, 5, 8-9"
    assert ranges([]) == ""


def test_no_title_steers_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("One \x1b[2J\x1b]52;c;cm0=\x07 and \x9b31m two\n" + "long " * 60 + "\n")
    ours, theirs = pty.openpty()
    command = [*MAIN, "tasks", "list", "lines:t.txt"]
    env = {**os.environ, "COLUMNS": "50", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, stdout=theirs, stderr=subprocess.PIPE, check=True)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.stderr == b"2 open\n"
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert all(len(line) <= 50 for line in shown.splitlines())
