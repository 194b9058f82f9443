"""The benchmarks run (their figures are looked at by people: no timed assertions)."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("hook_call", "read_back", "cold_start", "stop_hook", "verify_scale", "filters"),
        *("loop", "adapters", "report", "swarm", "box", "script"),
    ],
)
def test_a_benchmark_prints_its_table(name: str) -> None:
    less = {"filters": {"sizes": (2_000,)}, "report": {"sizes": (100,)}}.get(name, {})
    text = import_module(f"benchmarks.{name}").main(rounds=1, **less)
    assert "median" in text or "per element" in text or "per script" in text or "per iteration" in text
