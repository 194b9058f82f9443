"""The test module that ``pytest --ralph-driver`` collects: all packaged scenarios, with the fixture they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pytest_bdd import scenarios

from bridge.verify.gherkin.scenarios import scripts_for
from bridge.verify.gherkin.selection import script_features
from bridge.verify.gherkin.steps import steps

if TYPE_CHECKING:
    from pathlib import Path

globals().update(steps())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test per scenario and script; one without a script is left out when all are collected."""
    tags = [mark.name for mark in metafunc.definition.iter_markers()]
    scripts: list[Path | None] = [*scripts_for(metafunc.config, tags)] or [None]
    metafunc.parametrize("script", scripts, indirect=True, ids=[path.stem if path else "none" for path in scripts])


@pytest.fixture(autouse=True)
def script(request: pytest.FixtureRequest) -> Path | None:
    """The script that a scenario is about."""
    path: Path | None = request.param
    return path


scenarios(*script_features())
