"""The shares of tests/slow.txt and tests/nightly.txt: how many of a family of tests run how often."""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heapreplace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from zlib import crc32

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SLOW = Path(__file__).with_name("slow.txt")
"""How many of a family run in `make test`; the others are slow."""

NIGHTLY = Path(__file__).with_name("nightly.txt")
"""How many of a family run in `make test` or `make test-slow`; the others in `make nightly`."""


def shares(path: Path) -> dict[str, int]:
    """How many tests of a family a list keeps, by its name: a test without its parameters, or a whole file.

    That of a folder ends with a slash, and its number is for each test below it.
    """
    lines = (line.partition("#")[0].split() for line in path.read_text().splitlines())
    return {family: int(number) for number, family in filter(None, lines)}


def mark_the_rest(items: Sequence[pytest.Item]) -> None:
    """Mark as slow or nightly what isn't among the share of its family. What is nightly is slow as well."""
    _mark(items, shares(SLOW), "slow")
    _mark(items, shares(NIGHTLY), "nightly")
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.slow)


def _mark(items: Iterable[pytest.Item], listed: Mapping[str, int], marker: str) -> None:
    families: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker(marker) is None:
            families[item.nodeid.partition("[")[0]].append(item)
    for test in tuple(families):
        if test not in listed and (module := test.partition("::")[0]) in listed:
            families[module] += families.pop(test)
    for family, members in families.items():
        names = (family, *(f"{folder}/" for folder in PurePath(family.partition("::")[0]).parents))
        number = next((listed[name] for name in names if name in listed), None)
        if number is None:
            continue
        values = {each.nodeid: _values(each) for each in members}
        fast = {
            each.nodeid
            for each in members
            if marker != "slow" and not (each.get_closest_marker("slow") or each.get_closest_marker("real"))
        }
        kept = representatives(values, number, fast)
        for each in members:
            if each.nodeid not in kept:
                each.add_marker(marker)


def representatives(members: Mapping[str, Sequence[object]], number: int, sure: Iterable[str] = ()) -> set[str]:
    """So many tests, by their ids, that meet as many values of their parameters as so many can.

    Which of equals it is depends on their ids alone, so that a test that is added moves few others. Those that are
    sure are among them, however many they are.
    """
    kept = set(sure)
    met = {value for name in kept for value in members[name]}
    # What a test adds only shrinks as others are taken: one that still adds as much as it did before is the best.
    rest = [(-len(members[name]), crc32(name.encode()), name) for name in members.keys() - kept]
    heapify(rest)
    while rest and len(kept) < number:
        most, order, name = rest[0]
        if (adds := len(set(members[name]) - met)) < -most:
            heapreplace(rest, (-adds, order, name))
            continue
        heappop(rest)
        kept.add(name)
        met.update(members[name])
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
            f"the tests took {seconds:.0f} s of CPU (`make test` below 300: tests/slow.txt); the longest files:",
            *(f"  {files[name]:6.1f} s {name}" for name in longest),
        ]
    )


def _values(item: pytest.Item) -> list[object]:
    """What a test has of its parameters: the name of each, and which of its values it is; its function first."""
    spec = getattr(item, "callspec", None)
    return [item.nodeid.partition("[")[0], *(spec.indices.items() if spec else ())]
