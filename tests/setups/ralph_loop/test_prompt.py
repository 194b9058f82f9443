"""Templates: ``envsubst`` without the program."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from bridge.loop.setups.ralph_loop.prompt import fill, volume_hint

TEXT = (
    "$A ${A} $AB ${AB} $5 $(date) ${A:-d} ${A-d} $$A $${A} ${$A} ${A$B} ${} $ ${ $- ${A }\n"
    "\\$A $A1 ${A}1 $é ${1} '$A' \"${B}\" $A$B$\n"
)


def test_fill() -> None:
    filled = fill(TEXT, {"A": "1", "B": "$A", "AB": "ab"})
    assert filled.startswith("1 1 ab ab $5 $(date) ${A:-d} ${A-d} $1 $1 ${1} ${A$A} ${} $ ${ $- ${A }\n")
    assert fill("[$GONE]", {}) == "[]"


def test_fill_does_what_envsubst_does_where_there_is_one() -> None:
    values = {"A": "1", "B": "$A", "AB": "ab"}
    env = {"PATH": os.environ["PATH"], **values}
    text = TEXT.replace("é", "e")
    program = shutil.which("envsubst") or "cat"
    done = subprocess.run([program], input=text, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == (text if program == "cat" else fill(text, values))


@pytest.mark.parametrize(
    ("files", "size", "small"),
    [(1, 10, True), (4, 51_199, True), (4, 51_200, False), (5, 10, False), (40, 400_000, False)],
)
def test_volume_hint(files: int, size: int, small: bool) -> None:
    hint = volume_hint(files, size)
    assert ("likely complete planning in one iteration" in hint) is small
    assert ("decomposition ledger" in hint and "one spec file per iteration" in hint) is not small
