"""The shares of tests/slow.txt: of each of these families `make test` runs so many, `make test-slow` the others."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LIST = Path(__file__).with_name("slow.txt")


def shares() -> dict[str, int]:
    """How many tests of a family stay fast, by its node id: a test without its parameters, or a whole file."""
    lines = (line.partition("#")[0].split() for line in LIST.read_text().splitlines())
    return {family: int(number) for number, family in filter(None, lines)}


def mark_the_rest(items: Iterable[pytest.Item]) -> None:
    """Mark as slow what isn't among the share of its family."""
    listed = shares()
    families: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        test = item.nodeid.partition("[")[0]
        family = test if test in listed else test.partition("::")[0]
        if family in listed and item.get_closest_marker("slow") is None:
            families[family].append(item)
    for family, members in families.items():
        kept = representatives({each.nodeid: _values(each) for each in members}, listed[family])
        for each in members:
            if each.nodeid not in kept:
                each.add_marker(pytest.mark.slow)


def representatives(members: Mapping[str, Sequence[object]], number: int) -> set[str]:
    """So many tests, by their ids, that meet as many values of their parameters as so many can.

    Which of equals it is depends on their ids alone, so that a test that is added moves few others.
    """
    rest = sorted(members, key=lambda name: crc32(name.encode()))
    kept: set[str] = set()
    met: set[object] = set()
    for _ in range(min(number, len(rest))):
        best = max(rest, key=lambda name: len(set(members[name]) - met))
        rest.remove(best)
        kept.add(best)
        met.update(members[best])
    return kept


def cpu() -> float:
    """Seconds of all cores that this process and what it has started have taken so far."""
    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return float(sum(each.user + each.system + each.children_user + each.children_system for each in times))


def costs(seconds: float, reports: Iterable[pytest.TestReport]) -> str:
    """What a run has cost, and which files took the longest: where a run that has grown is to be cut."""
    files: dict[str, float] = defaultdict(float)
    for report in reports:
        files[report.nodeid.partition("::")[0]] += report.duration
    longest = sorted(files, key=lambda name: -files[name])[:10]
    return "\n".join(
        [
            f"the tests took {seconds:.0f} s of CPU (`make test` below 480: tests/slow.txt); the longest files:",
            *(f"  {files[name]:6.1f} s {name}" for name in longest),
        ]
    )


def _values(item: pytest.Item) -> list[object]:
    """What a test has of its parameters: the name of each, and which of its values it is; its function first."""
    spec = getattr(item, "callspec", None)
    return [item.nodeid.partition("[")[0], *(spec.indices.items() if spec else ())]
