"""Which tests of an expensive family `make test` runs."""

from __future__ import annotations

import ast
from itertools import product

import pytest

from tests.families import LIST, representatives, shares

ROOT = LIST.parents[1]


def functions(tree: ast.AST, prefix: str) -> set[str]:
    """The node ids of all functions in a module, by class."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            found.add(f"{prefix}::{node.name}")
        elif isinstance(node, ast.ClassDef):
            found |= functions(node, f"{prefix}::{node.name}")
    return found


@pytest.mark.parametrize("path", sorted({family.partition("::")[0] for family in shares()}))
def test_every_family_of_the_list_is_there(path: str) -> None:
    listed = {family for family in shares() if family.partition("::")[0] == path}
    assert listed <= {path, *functions(ast.parse((ROOT / path).read_text()), path)}


def test_no_family_is_listed_twice() -> None:
    lines = [line.partition("#")[0].split() for line in LIST.read_text().splitlines()]
    assert len(shares()) == len([words for words in lines if words])


def test_each_value_is_met_as_soon_as_can_be() -> None:
    members = {f"{row}-{column}": [("row", row), ("column", column)] for row, column in product("abc", "12345")}
    kept = representatives(members, 5)
    assert len(kept) == 5
    assert {row for name in kept for row in name[0]} == set("abc")
    assert {name[-1] for name in kept} == set("12345")


def test_a_share_is_no_more_than_there_are() -> None:
    assert representatives({"a": [1], "b": [1]}, 9) == {"a", "b"}
    assert representatives({"a": [1], "b": [1]}, 0) == set()


def test_a_further_test_moves_none_or_takes_one_s_place() -> None:
    members = {f"test[{number}]": [number] for number in range(40)}
    kept = representatives(members, 10)
    assert len(kept & representatives(members | {"test[more]": ["more"]}, 10)) >= 9
