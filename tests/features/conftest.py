"""The shipped features on the shipped drivers and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge import resources
from bridge.contract import driver_contract
from bridge.verify.gherkin.scenarios import chosen
from bridge.verify.gherkin.steps import CLAUSES
from tests.features import agent_steps, driver_steps, wiggum_steps
from tests.features.driver_bench import DriverBench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

globals().update(CLAUSES)
for module in (driver_steps, agent_steps):
    globals().update({name: step for name, step in vars(module).items() if name.startswith("pytestbdd_stepdef")})
globals().update(wiggum_steps.steps())

SCRIPTS = [
    *(resources.shipped("drivers") / driver.file for driver in driver_contract().drivers.values()),
    *sorted(resources.shipped("agents").glob("*.sh")),
]
QUICK = ("claude-code",)
"""What is tried in `make test`, or the first that a scenario applies to; the others are in `make test-slow`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "script" not in metafunc.fixturenames:
        return
    scripts = chosen([mark.name for mark in metafunc.definition.iter_markers()], SCRIPTS)
    assert scripts, f"no script for {metafunc.definition.nodeid}"
    if paths := [path for path in scripts if path]:
        quick = [path for path in paths if path.stem in QUICK] or paths[:1]
        marked = [pytest.param(path, marks=[] if path in quick else [pytest.mark.slow]) for path in paths]
        metafunc.parametrize("script", marked, indirect=True, ids=[path.stem for path in paths])


@pytest.fixture(autouse=True)
def script(request: pytest.FixtureRequest) -> Path | None:
    """The driver or agent that a scenario runs with; None for scenarios that bring their own."""
    path: Path | None = getattr(request, "param", None)
    return path


@pytest.fixture
def bench(tmp_path: Path, script: Path | None) -> Iterator[DriverBench]:
    """What the steps of a scenario share."""
    bench = DriverBench(tmp_path, script)
    try:
        yield bench
    finally:
        bench.finish()
