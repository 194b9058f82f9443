"""``run --json``: a loop's events on stdout, one JSON object a line, at once; the last one has the exit code."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bridge.base import timestamps
from bridge.cli._failures import lacks
from bridge.cli._render import drive
from bridge.cli._terminal import write
from bridge.errors import BridgeError
from bridge.loop.engine.events import LoopEnded, interruption

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from bridge.loop.engine.events import LoopEvent


class JsonLines:
    """Prints events; the last one when its exit code is known."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def run(self, events: Generator[LoopEvent, None, None]) -> LoopEnded:
        return drive(events, self._show, lambda _error: None)

    def _show(self, event: LoopEvent) -> None:
        if isinstance(event, LoopEnded):
            self._last = event.to_dict()
        else:
            _print(event.to_dict())

    def failed(self, error: BaseException) -> None:
        """Take what has kept the loop from its end."""
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        self._last = {"event": "loop_failed", "error": type(error).__name__, "message": message}

    def interrupted(self, error: BaseException) -> None:
        code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 130
        if not self._last:
            self._last = {"event": "loop_interrupted", "reason": interruption(SystemExit(code))[1]}
        self.ended(code)

    def ended(self, code: int) -> int:
        """Print the last line; return its exit code."""
        none = {"event": "loop_failed", "error": None, "message": None}
        _print({**(self._last or none), "exit_code": code})
        return code


@contextmanager
def json_lines() -> Iterator[JsonLines]:
    """Print a last line however the block ends: who ends it in order does so by `JsonLines.ended`."""
    lines = JsonLines()
    try:
        yield lines
    except click.ClickException as error:
        lines.failed(error)
        lines.ended(error.exit_code)
        raise
    except BridgeError as error:
        lines.failed(error)
        lines.ended(error.exit_code)
        raise
    except (KeyboardInterrupt, SystemExit) as error:
        lines.interrupted(error)
        raise
    except Exception as error:
        lines.failed(error)
        lines.ended(4 if lacks(error) else 3)
        raise


def _print(document: dict[str, Any]) -> None:
    line = {"schema": 1, "time": timestamps.iso_precise(time.time()), **document}
    write(json.dumps(line, allow_nan=False) + "\n")
