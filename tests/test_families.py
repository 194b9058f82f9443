"""Which tests of an expensive family `make test` and `make test-slow` run."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest

from tests import families
from tests.families import NIGHTLY, SLOW, representatives, shares

if TYPE_CHECKING:
    from pathlib import Path

ROOT = SLOW.parents[1]
LISTS = [SLOW, NIGHTLY]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_family_of_the_list_is_there(path: Path) -> None:
    missing = []
    for family in shares(path):
        module, *names = family.split("::")
        text = (ROOT / module).read_text() if (ROOT / module).is_file() else ""
        there = bool(text) or (module.endswith("/") and (ROOT / module).is_dir())
        if not there or not all(re.search(rf"^ *(?:def|class) {name}\b", text, re.MULTILINE) for name in names):
            missing.append(family)
    assert missing == []


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_no_family_is_listed_twice(path: Path) -> None:
    lines = [line.partition("#")[0].split() for line in path.read_text().splitlines()]
    assert len(shares(path)) == len([words for words in lines if words])


def test_what_is_tried_with_each_change_is_no_less_than_what_is_fast() -> None:
    fast = shares(SLOW)
    assert {
        name: (fast[name], number) for name, number in shares(NIGHTLY).items() if fast.get(name, 0) > number
    } == {}


def test_each_value_is_met_as_soon_as_can_be() -> None:
    members = {f"{row}-{column}": [("row", row), ("column", column)] for row, column in product("abc", "12345")}
    kept = representatives(members, 5)
    assert len(kept) == 5
    assert {row for name in kept for row in name[0]} == set("abc")
    assert {name[-1] for name in kept} == set("12345")


def test_a_share_is_no_more_than_there_are() -> None:
    assert representatives({"a": [1], "b": [1]}, 9) == {"a", "b"}
    assert representatives({"a": [1], "b": [1]}, 0) == set()


@pytest.mark.parametrize(
    ("listed", "kept"),
    [
        ({"tests/a/": 2}, {"tests/a/b.py::x": 2, "tests/a/b.py::y": 2, "tests/a/c/d.py::x": 2}),
        ({"tests/a/": 3, "tests/a/c/": 1}, {"tests/a/b.py::x": 3, "tests/a/b.py::y": 3, "tests/a/c/d.py::x": 1}),
        (
            {"tests/a/": 1, "tests/a/b.py": 4, "tests/a/b.py::y": 0},
            {"tests/a/b.py::x": 4, "tests/a/c/d.py::x": 1},
        ),
    ],
)
def test_a_line_about_a_test_goes_before_one_about_its_file_and_that_before_its_folder(
    listed: dict[str, int], kept: dict[str, int]
) -> None:
    class Item:
        def __init__(self, nodeid: str) -> None:
            self.nodeid = nodeid
            self.markers: set[str] = set()

        def get_closest_marker(self, name: str) -> bool | None:
            return name in self.markers or None

        def add_marker(self, name: str) -> None:
            self.markers.add(name)

    tests = ("tests/a/b.py::x", "tests/a/b.py::y", "tests/a/c/d.py::x")
    items = [Item(f"{test}[{number}]") for test in tests for number in range(5)]
    families._mark(items, listed, "slow")  # type: ignore[arg-type]
    assert Counter(item.nodeid.partition("[")[0] for item in items if not item.markers) == kept


def test_those_that_are_sure_are_kept_and_their_values_met() -> None:
    members = {f"{row}-{column}": [row, column] for row, column in product("abc", "12")}
    assert representatives(members, 3, ["a-1", "b-1"]) == {"a-1", "b-1", "c-2"}
    assert representatives(members, 1, ["a-1", "b-1"]) == {"a-1", "b-1"}


def test_a_further_test_moves_none_or_takes_one_s_place() -> None:
    members = {f"test[{number}]": [number] for number in range(40)}
    kept = representatives(members, 10)
    assert len(kept & representatives(members | {"test[more]": ["more"]}, 10)) >= 9
