"""A night for each kind of loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import examples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.examples import Project


@pytest.fixture(params=examples.EXAMPLES.values(), ids=lambda example: example.name)
def night(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    with examples.project(request.param, tmp_path) as made:
        yield made


@pytest.fixture(
    params=[each for each in examples.EXAMPLES.values() if each.agent], ids=lambda example: example.name
)
def agents_night(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """Of the kinds whose turns have hooks before and after them."""
    with examples.project(request.param, tmp_path) as made:
        yield made


@pytest.fixture(
    params=[each for each in examples.EXAMPLES.values() if not each.controllers], ids=lambda example: example.name
)
def waiting_night(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """Of the kinds that wait for whoever reads them; the others drop what nobody reads, as their originals do."""
    with examples.project(request.param, tmp_path) as made:
        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them take seconds: whole loops, with pauses and deadlines. They run with the slow tests."""
    for item in items:
        if "night" in item.path.parts[-2:-1]:
            item.add_marker(pytest.mark.slow)


each_loop = pytest.mark.parametrize("night", examples.LOOPS, ids=lambda example: example.name, indirect=True)
"""For a test of what the loop itself does: not every kind of setup, but every way in which loops are decided."""
