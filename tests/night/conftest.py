"""A night for each kind of loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.night import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.night.kinds import Night


@pytest.fixture(params=kinds.KINDS, ids=lambda kind: kind.name)
def night(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Night]:
    with kinds.night(request.param, tmp_path) as made:
        yield made


@pytest.fixture(params=[each for each in kinds.KINDS if each.agent], ids=lambda kind: kind.name)
def agents_night(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Night]:
    """Of the kinds whose turns have hooks before and after them."""
    with kinds.night(request.param, tmp_path) as made:
        yield made


@pytest.fixture(params=[each for each in kinds.KINDS if not each.controllers], ids=lambda kind: kind.name)
def waiting_night(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Night]:
    """Of the kinds that wait for whoever reads them; the others drop what nobody reads, as their originals do."""
    with kinds.night(request.param, tmp_path) as made:
        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them take seconds: whole loops, with pauses and deadlines. They run with the slow tests."""
    for item in items:
        if "night" in item.path.parts[-2:-1]:
            item.add_marker(pytest.mark.slow)
