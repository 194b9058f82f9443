"""The record of a swarm: what was put down is read, whenever the host was killed."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from bridge import ProjectUnusable
from bridge.loop.swarm.swarm_record import CHANGES, FILE, RecordWriter, SwarmRecord, TaskRecord, read_swarm
from bridge.loop.tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _record(count: int) -> SwarmRecord:
    tasks = [TaskRecord(Task(f"t{number}", "a task", "Do it.", boxes=("Do it.",))) for number in range(count)]
    return SwarmRecord(
        run="run", project="/project", kind="plain", base="0" * 40, branch="ralph/swarm/run", tasks=tasks
    )


def test_changes_are_read_as_if_all_had_been_written(tmp_path: Path) -> None:
    record = _record(3)
    writer = RecordWriter(tmp_path, record)
    writer.write()
    for step in ("running", "saved", "done"):
        record.tasks[1].step = step
        record.tasks[1].turns += 1
        writer.write_task(record.tasks[1])
        assert read_swarm(tmp_path) == record
    assert (tmp_path / CHANGES).read_text().count("\n") == 3


def test_a_host_that_is_killed_while_it_writes_loses_that_line_alone(tmp_path: Path) -> None:
    record = _record(2)
    writer = RecordWriter(tmp_path, record)
    writer.write()
    record.tasks[0].turns = 1
    writer.write_task(record.tasks[0])
    with open(tmp_path / CHANGES, "ab") as file:
        file.write(b'{"serial": 9, "task": {"id": "t1", "ti')
    assert read_swarm(tmp_path) == record
    old = (tmp_path / CHANGES).read_bytes()
    record.tasks[0].turns = 2
    writer.write()
    (tmp_path / CHANGES).write_bytes(old)  # it was killed before these were taken away
    assert read_swarm(tmp_path) == record


def test_what_is_written_grows_with_the_number_of_changes_and_no_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = [0, 0]
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr("bridge.loop.swarm.swarm_record._SHORT", 0)
    for place, count in enumerate((50, 200)):
        folder = tmp_path / str(count)
        record = _record(count)
        writer = RecordWriter(folder, record)
        with monkeypatch.context() as patched:
            patched.setattr("bridge.loop.swarm.swarm_record.write_text", _counted(written, place))
            _change(record, writer, 4)
        assert read_swarm(folder) == record
    assert written[1] < 6 * written[0], "four times the tasks"


def _change(record: SwarmRecord, writer: RecordWriter, times: int) -> None:
    writer.write()
    for task in record.tasks * times:
        task.turns += 1
        writer.write_task(task)


def _counted(written: list[int], place: int) -> Callable[[Path, str], None]:
    def write(path: Path, text: str) -> None:
        written[place] += len(text)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    return write


def test_a_full_disk_leaves_no_half_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = _record(1)
    writer = RecordWriter(tmp_path, record)
    writer.write()
    real = os.write

    def fills_up(descriptor: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", fills_up)
    with pytest.raises(ProjectUnusable, match="No space left"):
        writer.write_task(record.tasks[0])
    monkeypatch.undo()
    assert (tmp_path / CHANGES).read_bytes() == b""
    record.tasks[0].turns = 1
    writer.write_task(record.tasks[0])
    assert read_swarm(tmp_path) == record


def test_what_is_no_record_is_none(tmp_path: Path) -> None:
    assert read_swarm(tmp_path) is None
    for text in ("", "[]", "{}", '{"tasks": 3}', '{"tasks": ["a"]}'):
        (tmp_path / FILE).write_text(text)
        assert read_swarm(tmp_path) is None
