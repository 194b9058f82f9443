"""What in a jq program is newer than jq 1.6 is named, and nothing else is."""

from __future__ import annotations

import pytest

from bridge.scripts.stream.jq_oldest import newer_than_1_6


@pytest.mark.parametrize(
    ("program", "named"),
    [
        (".a | trim", "`trim/0`"),
        ('"\\(.a | trim)"', "`trim/0`"),
        ("pick(.a)", "`pick/1`"),
        ('scan("a"; "g")', "`scan/2`"),
        ("if . then 1 end", "`if` without `else`"),
        ("if . then (if . then 1 end) else 2 end", "`if` without `else`"),
        ("if . then 1 elif . then 2 end", "`if` without `else`"),
        (".a.[0]", "`.a.[...]` for `.a[...]`"),
    ],
)
def test_what_is_newer_is_named(program: str, named: str) -> None:
    assert newer_than_1_6(program) == named


@pytest.mark.parametrize(
    "program",
    [
        "{trim: 1} | .trim",
        "{trim}",
        '"trim" # if . then pick(.a) end',
        "def trim: .; trim",
        'scan("a"), debug, add',
        "if . then 1 elif . then 2 else 3 end | {if: 1, end: 2} | .if",
        ".a[0]?, .[0], .[]",
    ],
)
def test_what_jq_1_6_knows_is_not(program: str) -> None:
    assert newer_than_1_6(program) is None
