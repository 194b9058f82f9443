"""The half of a trial that runs in the namespaces: one line of JSON on stdout per finding."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.drift.agents import try_agent
from bridge.drift.drivers import try_driver
from bridge.drift.model import Finding, Status
from bridge.drift.runs import Model
from bridge.errors import BridgeError
from bridge.rehearsal.sandbox import PORT

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main"]


def main(kind: str, script: str) -> None:
    """Try the script in the working folder."""
    for finding in _findings(kind, Path(script)):
        os.write(1, (json.dumps(finding.as_data()) + "\n").encode())


def _findings(kind: str, script: Path) -> Iterator[Finding]:
    model = Model(PORT)
    try:
        yield from (try_agent if kind == "agent" else try_driver)(script, model)
    except BridgeError as error:
        yield Finding("run", Status.FAILED, " ".join(str(error).partition("\n  next: ")[0].split())[:500])
