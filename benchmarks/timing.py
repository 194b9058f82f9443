"""Paired timing: every contender in every round, so that what disturbs the machine disturbs all of them."""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Timing", "paired", "pin", "table"]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call over all rounds: median, and the 10th and 90th percentile as spread."""

    median: float
    low: float
    high: float


def pin() -> bool:
    """Put this process, and all that it starts, on one core: across two, each wake-up adds some 20 µs."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return True


def paired(contenders: Mapping[str, tuple[int, Callable[[int], object]]], rounds: int) -> dict[str, Timing]:
    """Time each contender, a function that does a thing n times, in turn, for so many rounds.

    Args:
        contenders: name to (n, function).
        rounds: how often each is timed; the first round warms up and doesn't count.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, (n, work) in contenders.items():
            start = time.perf_counter()
            work(n)
            samples[name].append((time.perf_counter() - start) / n)
    return {name: _timing(values[1:]) for name, values in samples.items()}


def _timing(values: list[float]) -> Timing:
    ordered = sorted(values)
    last = len(ordered) - 1
    return Timing(statistics.median(ordered), ordered[round(last * 0.1)], ordered[round(last * 0.9)])


def table(title: str, timings: Mapping[str, Timing], base: str, note: str = "") -> str:
    """The timings as text: median, spread, and the ratio to `base`."""
    width = max(map(len, timings))
    lines = [title, f"  {'':<{width}}  {'median':>10}  {'p10 to p90':>21}  {'ratio':>8}"]
    for name, timing in timings.items():
        ratio = timing.median / timings[base].median
        spread = f"{show(timing.low)} to {show(timing.high)}"
        lines.append(f"  {name:<{width}}  {show(timing.median):>10}  {spread:>21}  {ratio:>7.1f}x")
    return "\n".join([*lines, *([f"  {note}"] if note else []), ""])


def show(seconds: float) -> str:
    """A duration in the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} µs"
