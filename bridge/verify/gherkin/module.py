"""The test module that ``pytest --ralph-driver`` collects: all packaged scenarios, and those beside the scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pytest_bdd import scenarios

from bridge.verify.gherkin.scenarios import own_features, script_features, scripts_for
from bridge.verify.gherkin.steps import CLAUSES, EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

_own: dict[str, Path] = {}
"""The scripts that scenarios of their own are about, by the names of the tests."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test per scenario and script; one without a script is left out when all are collected."""
    tags = [mark.name for mark in metafunc.definition.iter_markers()]
    own = _own.get(metafunc.definition.name)
    scripts: list[Path | None] = [own] if own else [*scripts_for(metafunc.config, tags)] or [None]
    metafunc.parametrize("script", scripts, indirect=True, ids=[path.stem if path else "none" for path in scripts])


@pytest.fixture(autouse=True)
def script(request: pytest.FixtureRequest) -> Path | None:
    path: Path | None = request.param
    return path


globals().update(CLAUSES)
scenarios(*script_features())
if own_features():
    globals().update(EXAMPLES)
for _feature, _script in own_features().items():
    _before = {*globals()}
    scenarios(_feature)
    _own |= dict.fromkeys(globals().keys() - _before, _script)
