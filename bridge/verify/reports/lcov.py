"""LCOV tracefiles, as genhtml, editors and services for coverage read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.model import ScriptFinished
from bridge.verify.reports.base import printable, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from bridge.verify.model import Coverage, Event
    from bridge.verify.reports.base import ReportOptions


class LcovReport:
    """A section per script that was run. Branches of which nothing is known are left out."""

    def __init__(self, out: TextIO, _options: ReportOptions) -> None:
        self._out = out

    def take(self, event: Event) -> None:
        """Write a script's section."""
        if isinstance(event, ScriptFinished) and event.coverage is not None:
            path = printable(shown(event.path)).replace("\n", "\\n")
            self._out.writelines(f"{line}\n" for line in _section(path, event.coverage))
            self._out.flush()


def _named(name: str) -> str:
    return printable(name).replace("\n", "\\n")


def _section(path: str, coverage: Coverage) -> Iterator[str]:
    yield from ("TN:ralph-bridge verify", f"SF:{path}")
    for name, line, _ in coverage.functions:
        yield f"FN:{line},{_named(name)}"
    for name, _, times in coverage.functions:
        yield f"FNDA:{times},{_named(name)}"
    called = sum(times > 0 for _, _, times in coverage.functions)
    yield from (f"FNF:{len(coverage.functions)}", f"FNH:{called}")
    known = coverage.known_branches
    numbers: dict[int, int] = {}
    for branch in known:
        number = numbers[branch.site] = numbers.get(branch.site, -1) + 1
        yield f"BRDA:{branch.line},{branch.site},{number},{'-' if branch.reached is False else branch.taken}"
    yield from (f"BRF:{len(known)}", f"BRH:{sum(bool(branch.taken) for branch in known)}")
    for line, times in coverage.lines:
        yield f"DA:{line},{times}"
    yield from (f"LF:{len(coverage.lines)}", f"LH:{coverage.hit}", "end_of_record")
