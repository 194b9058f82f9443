"""A script notices nothing of its host: by itself and by ``run --script`` it does and leaves behind the same.

The shapes are written after scripts that people use. `tests.script.shapes` has them, `tests.script.trial` runs
them and compares.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.script.shapes import shapes
from tests.script.trial import REPLIES, Shape, Trial, differences

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

FAST = (
    "while-true-until-the-promise",
    "the-cli-eats-the-list",
    "session-from-json-is-resumed",
    "background-and-wait",
    "asks-that-are-no-turns",
)
"""Tried with each change; all others with the slow tests."""


def _parameters() -> list[ParameterSet]:
    return [pytest.param(each, id=name, marks=_marks(each)) for name, each in shapes().items()]


def _marks(shape: Shape) -> list[pytest.MarkDecorator]:
    marks = [] if shape.name in FAST else [pytest.mark.slow]
    marks += [
        pytest.mark.skip(reason=f"no {each} on this machine") for each in shape.needs if shutil.which(each) is None
    ]
    return [*marks, pytest.mark.xfail(reason=shape.not_yet, strict=True)] if shape.not_yet else marks


@pytest.mark.parametrize("shape", _parameters())
def test_a_script_is_the_same_by_itself_and_hosted(shape: Shape, tmp_path: Path) -> None:
    trial = Trial(shape, tmp_path)
    alone = trial.alone()
    assert (alone.status, len(alone.calls)) == (shape.status, shape.calls), alone.stderr  # it does what it is about
    hosted = trial.hosted()
    assert not (found := differences(alone, hosted, shape)), "\n".join([*found, hosted.stderr.decode()])
    assert trial.turns() == (shape.calls if shape.turns is None else shape.turns)


# ------------------------------------------------------------------ the comparison itself

SAMPLE = Shape(
    name="sample",
    script="""#!/bin/bash
claude -p < PROMPT.md
echo loud >&2
git commit -q -am "by the script"
git push -q origin HEAD
git log --format=%s | cat
""",
    replies=({**REPLIES["work"], "commit": ""},),
    files={"README.md": "Read this instead.\n"},
)
TAMPERED: Mapping[str, tuple[str, str]] = {
    "exit status": ("| cat", "| cat; exit 3"),
    "stdout": ("| cat", "| sed 1d"),
    "stderr": ("echo loud", "echo silent"),
    "calls": ("echo loud", "claude -p again; echo loud"),
    "call 1, argv": ("claude -p", "claude --print"),
    "call 1, stdin": ("< PROMPT.md", "< README.md"),
    "call 1, cwd": ("claude -p < PROMPT.md", "(cd src && claude -p < ../PROMPT.md)"),
    "call 1, env": ("claude -p", "X=1 claude -p"),
    "call 1, umask": ("claude -p", "umask 077; claude -p"),
    "call 1, ignored": ("claude -p", "trap '' HUP; claude -p"),
    "git: history": ("by the script", "by the other script"),
    "git: index": ("git log", "touch new; git log"),
    "git: remote": ("git push -q origin HEAD", "true"),
    "file src/app.txt": ("git log", "chmod +x src/app.txt; git log"),
}
"""What is told when one run of the sample differs from the other by this replacement in its script."""


@pytest.mark.slow
def test_the_comparison_tells_every_difference(tmp_path: Path) -> None:
    sample = Trial(SAMPLE, tmp_path).alone()
    untold = {}
    for title, (old, new) in TAMPERED.items():
        assert old in SAMPLE.script
        tampered = replace(SAMPLE, script=SAMPLE.script.replace(old, new))
        told = differences(sample, Trial(tampered, tmp_path).alone(), SAMPLE)
        if not any(each.startswith(title) for each in told):
            untold[title] = told
    assert not untold


def test_two_runs_of_the_same_are_the_same(tmp_path: Path) -> None:
    trial = Trial(SAMPLE, tmp_path)
    assert differences(trial.alone(), trial.alone(), SAMPLE) == []
