"""The logs of a turn."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.setups.wiggum import files
from bridge.turn.logs import bound_logs, logs_of_turns, unused
from bridge.turn.tool import TurnLogs

if TYPE_CHECKING:
    from bridge.setups.wiggum.files import Layout


_TURN_LOG = re.compile(r"(iteration_\d+(?:-\d+)?)\.(?:log|err)(?:\.gz)?")


def log_names(layout: Layout, iteration: int, max_bytes: int) -> TurnLogs:
    """Return names for the logs of a turn that no earlier one has used; keep all of them within `max_bytes`."""
    logs = layout.folder / "logs"
    with files.usable():
        logs.mkdir(parents=True, exist_ok=True)
    bound_logs(logs_of_turns(logs, _TURN_LOG), max_bytes=max_bytes, say=lambda line: files.log(layout, line))
    name, number = f"iteration_{iteration:04d}", 1
    while not unused(logs / f"{name}.log"):
        number += 1
        name = f"iteration_{iteration:04d}-{number}"
    return TurnLogs(logs / f"{name}.log", logs / f"{name}.err")
