"""How far a verification is: one line that is written over on a terminal; elsewhere, if asked, one per script."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from bridge.cli._terminal import duration, say
from bridge.verify.model import RunFinished, RunStarted, ScriptFinished, ScriptStarted, Severity
from bridge.verify.reports.base import plural, printable, shown

if TYPE_CHECKING:
    from bridge.verify.model import Event

__all__ = ["Progress"]

_WIDTH = 24


class Progress:
    """Writes to stderr only, and only where somebody looks."""

    def __init__(self, *, off: bool = False, verbose: bool = False) -> None:
        self._live = sys.stderr.isatty() and not off
        self._lines = verbose
        self._total = self._done = 0
        self._drawn = False

    def take(self, event: Event) -> None:
        """Show where the run is."""
        if isinstance(event, RunStarted):
            self._total = len(event.scripts)
        elif isinstance(event, ScriptStarted):
            self._draw(printable(shown(event.path)))
        elif isinstance(event, ScriptFinished):
            self._done += 1
            if self._lines:
                errors = sum(finding.severity is Severity.ERROR for finding in event.findings)
                name = printable(shown(event.path)).replace("\n", "\\n")
                say(f"[{self._done}/{self._total}] {name}: {plural(errors, 'error')} in {duration(event.seconds)}")
        elif isinstance(event, RunFinished) and self._lines:
            say(f"{plural(event.scripts, 'script')} in {duration(event.seconds)}")

    def clear(self) -> None:
        """Take the line away, before something else is written to the same terminal."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False

    def _draw(self, name: str) -> None:
        if not self._live:
            return
        filled = _WIDTH * self._done // max(self._total, 1)
        line = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {self._done}/{self._total} {name}"
        columns = shutil.get_terminal_size().columns
        sys.stderr.write("\r\x1b[K" + line.replace("\n", " ")[: columns - 1])
        sys.stderr.flush()
        self._drawn = True
