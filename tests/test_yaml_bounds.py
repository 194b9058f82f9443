"""YAML that others wrote: what few lines stand for is bounded, and so is how deep they nest."""

from __future__ import annotations

import pytest
import yaml

from bridge.base.yaml_bounds import check

BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{each}: &a{each} [{','.join([f'*a{each - 1}'] * 9)}]\n" for each in range(1, 12)
)
WORDS = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 200)}]\n"


@pytest.mark.parametrize(
    "text", [BOMB, WORDS, "[" * 20_000, "- " * 200 + "x", "a: &a {b: *a}\n" + "[" * 60, "x: " + "y" * 2_000_000]
)
def test_what_no_person_writes_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        check(text)


def test_what_people_write_is_not() -> None:
    check("base: &base {a: 1}\ntasks:\n- <<: *base\n  prompt: |\n    x\n- &two [1, 2]\n- *two\n")
    check("- prompt: x\n  title: y\n" * 5_000)
