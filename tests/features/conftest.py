"""The shipped features on the shipped drivers and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.base import resources
from bridge.scripts.contract import driver_contract
from bridge.verify.gherkin.scenarios import AGENT, ONCE, PROVIDER
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
    resources.shipped("features") / "data" / "my_provider.sh",
]
DRIVERS = {driver.file: driver for driver in driver_contract().drivers.values()}
QUICK = ("claude-code",)
"""What is tried in `make test`, or the first that a scenario applies to; the others are in `make test-slow`."""


def is_about(tags: set[str], script: Path) -> bool:
    """What `applies` says of a shipped script, by the table of the contract: each start of the tests asks."""
    if (is_provider := script.parent.name == "data") or PROVIDER in tags:
        return is_provider and PROVIDER in tags
    if (is_agent := script.parent.name == "agents") or AGENT in tags:
        return is_agent and AGENT in tags
    driver = DRIVERS[script.name]
    can = {"sessions": driver.sessions, "live_output": driver.live_output, "allowlist": driver.allowlist}
    has = {"with_filter", *(f"{'with' if each else 'without'}_{name}" for name, each in can.items())}
    asked = {tag for tag in tags if tag.startswith(("with_", "without_"))}
    named = tags & {each.name for each in DRIVERS.values()}
    return asked <= has and (not named or driver.name in named)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "script" not in metafunc.fixturenames:
        return
    tags = {mark.name for mark in metafunc.definition.iter_markers()}
    paths = [path for path in SCRIPTS if ONCE not in tags and is_about(tags, path)]
    assert paths or ONCE in tags, f"no script for {metafunc.definition.nodeid}"
    if paths:
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
