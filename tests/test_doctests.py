"""Examples in docstrings say what is so."""

from __future__ import annotations

import doctest
from importlib import import_module

from tests.test_layering import MODULES, module_of


def test_each_example_shows_what_it_gives() -> None:
    with_examples = [path for path in MODULES if b"\n    >>> " in path.read_bytes()]
    assert len(with_examples) > 50
    found = {path: doctest.testmod(import_module(module_of(path))) for path in with_examples}
    assert [f"{path}: {each}" for path, each in found.items() if each.failed] == []
    assert sum(each.attempted for each in found.values()) > 90
