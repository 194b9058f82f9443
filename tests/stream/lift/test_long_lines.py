"""Patterns of grep and sed on long lines: Python's re would backtrack for minutes, uninterruptibly."""

from __future__ import annotations

import contextlib
import subprocess
import time

import pytest

from bridge.stream.lift.faults import Doubt
from bridge.stream.lift.shelltree import Tool
from bridge.stream.lift.tools import on_text, tool

LONG = 1 << 20


@pytest.mark.parametrize(
    "words",
    [
        ("sed", "-n", r's/.*"text":"\([^"]*\)".*/\1/p'),
        ("sed", r"s/{[^}]*}/X/"),
        ("grep", "[a-z]*:"),
        ("grep", "-o", '"[a-z]*":'),
    ],
)
@pytest.mark.parametrize("unit", ["q", '"', "{", '"text":"'])
def test_a_long_line_is_quick_or_left_to_bash(words: tuple[str, ...], unit: str) -> None:
    work = tool(Tool(words[0], words[1:], False, None))
    begun = time.process_time()
    with contextlib.suppress(Doubt):
        on_text(work, unit * (LONG // len(unit)) + "\n")
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("line", ['{"text":"a","text":"b"}', 'x"text":"', "", '"text":"":"text":"c"', "q" * 5000])
@pytest.mark.parametrize("script", [r's/.*"text":"\([^"]*\)".*/\1/', r"s/\(.*\)t.*/<\1>/g", r"s/.*e.*//g"])
def test_a_leading_anything_matches_from_the_start_or_nowhere(script: str, line: str) -> None:
    work = tool(Tool("sed", (script,), False, None))
    wanted = subprocess.run(["sed", script], input=line + "\n", capture_output=True, text=True, check=True).stdout
    assert on_text(work, line + "\n")[0] == wanted
