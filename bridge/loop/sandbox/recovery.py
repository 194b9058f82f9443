"""The look behind a turn in a box whose loop was killed before it could look."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bridge.base.json_files import as_object, parse_json
from bridge.base.process import leftovers
from bridge.errors import ProjectUnusable
from bridge.loop.sandbox.unexamined import not_looked_at, record_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def look_behind(folder: str | Path) -> list[str]:
    """Look behind the turn of a loop that is no more; say what was undone.

    Raises:
        ProjectUnusable: something can't be undone, or not be looked at; it stays refused.
    """
    if (project := not_looked_at(folder)) is None:
        return []
    from bridge.loop.sandbox.guard import Guard  # half of the box, for a look that is seldom due

    record = record_of(project)
    with _alone(record.parent):
        leftovers.end(project, marks=leftovers.ALL_MARKS)  # what the loop that was killed has left running
        document: dict[str, Any] = as_object(parse_json(text_of(record))) or {}
        try:
            guard = Guard.of_record(document)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ProjectUnusable(
                f"{record} is no record of a turn in a box\n"
                "  next: `ralph-bridge reset`, to take the project as it is"
            ) from None
        lines, error = guard.looked(0)
    if error is not None:
        raise error
    return ["the last turn in a box was cut off: what it has left was looked at now", *lines]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
