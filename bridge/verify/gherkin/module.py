"""The test module that ``pytest --ralph-driver`` collects: all packaged scenarios, with the fixtures they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pytest_bdd import scenarios

from bridge.verify.gherkin.scenarios import drivers_for
from bridge.verify.gherkin.selection import script_features
from bridge.verify.gherkin.steps import steps
from bridge.verify.gherkin.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

globals().update(steps())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test per scenario and driver; one without a driver is left out when all are collected."""
    tags = [mark.name for mark in metafunc.definition.iter_markers()]
    drivers: list[Path | None] = [*drivers_for(metafunc.config, tags)] or [None]
    metafunc.parametrize("script", drivers, indirect=True, ids=[path.stem if path else "none" for path in drivers])


@pytest.fixture(autouse=True)
def script(request: pytest.FixtureRequest) -> Path | None:
    """The driver that a scenario runs with."""
    path: Path | None = request.param
    return path


@pytest.fixture(autouse=True)
def world(tmp_path: Path, script: Path | None) -> Iterator[World]:
    """What the scenario's steps share."""
    here = World(tmp_path, script)
    try:
        yield here
    finally:
        here.finish()


scenarios(*script_features())
