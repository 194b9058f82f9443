"""A stage for each scenario: a home that is copied, not made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.setups.frankbria.blackbox.scenario import Stage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Stage.template(tmp_path_factory.mktemp("template") / "home")


@pytest.fixture
def stage(tmp_path: Path, template: Path) -> Stage:
    return Stage(tmp_path, template)
