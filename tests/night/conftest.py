"""A night for each kind of loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

    from tests.examples import Example, Project


def mostly_nightly(wanted: Iterable[Example]) -> list[Example | ParameterSet]:
    """With each change those that decide and write in ways of their own; what they share with others, nightly."""
    return [each if each in examples.LOOPS else pytest.param(each, marks=pytest.mark.nightly) for each in wanted]


@pytest.fixture(params=mostly_nightly(examples.EXAMPLES.values()), ids=lambda example: example.name)
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
    params=mostly_nightly(
        each for each in examples.EXAMPLES.values() if not each.controllers and not each.scripted
    ),
    ids=lambda example: example.name,
)
def waiting_night(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """Of the kinds that wait for whoever reads them; the others drop what nobody reads, as their originals do."""
    with examples.project(request.param, tmp_path) as made:
        yield made


@pytest.hookimpl(tryfirst=True)  # before the shares of the lists are made
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them take seconds: whole loops, with pauses and deadlines. They run with the slow tests."""
    for item in items:
        if "night" in item.path.parts[-2:-1]:
            item.add_marker(pytest.mark.slow)


each_loop = pytest.mark.parametrize("night", examples.LOOPS, ids=lambda example: example.name, indirect=True)
"""For a test of what the loop itself does: not every kind of setup, but every way in which loops are decided."""
