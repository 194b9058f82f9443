"""A pattern is compiled when it is first used, and then does what any does."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from bridge.base.patterns import lazy


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = lazy("(")
    with pytest.raises(re.error):
        broken.search("")


def test_it_does_what_a_compiled_one_does() -> None:
    pattern = lazy(r"(\d+)(?P<unit>[a-z]*)", re.IGNORECASE)
    assert pattern.sub("N", "a 1 b 22") == "a N b N"
    found = pattern.fullmatch("30MB")
    assert found is not None
    assert found["unit"] == "MB"
    assert pattern.findall("1a") == [("1", "a")]
    assert pattern.groups == 2


def test_a_copy_of_it_is_the_compiled_one() -> None:
    pattern = lazy("a+", re.IGNORECASE)
    for each in (copy.copy(pattern), copy.deepcopy(pattern), pickle.loads(pickle.dumps(pattern))):
        assert each == re.compile("a+", re.IGNORECASE)
