"""The controller's command line: its oddities are what scripts rely on."""

from __future__ import annotations

import pytest

from bridge.errors import SessionRefused
from bridge.setups.ralph_loop.arguments import Refusal, Request, integer, parse


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ("plan", Request("plan")),
        ("plan 3", Request("plan", iterations="3")),
        ("plan 1 2", Request("plan", iterations="2")),
        ("plan abc", Request("plan", iterations="abc")),
        ("plan --foo", Request("plan", iterations="--foo")),
        ("plan -5", Request("plan", iterations="-5")),
        ("plan build", Request("build")),
        ("build 3 plan", Request("plan", iterations="3")),
        ("plan --process 4", Request("plan", process=True, iterations="4")),
        ("--process plan", Request("plan", process=True)),
        ("prompt my.md 2", Request("prompt", prompt_file="my.md", iterations="2")),
        ("prompt", Request("prompt")),
        ("prompt plan", Request("plan")),
        ("prompt ./plan", Request("prompt", prompt_file="./plan")),
        ("help", Request("help")),
        ("help plan", Request("help", topic="plan")),
        ("plan help build", Request("help", topic="build")),
        ("help nonsense", Request("help", topic="nonsense")),
        ("help help", Request("help", topic="help")),
        ("update", Request("update")),
        ("sandbox up now", Request("sandbox")),
        ("sandbox plan", Request("plan")),
    ],
)
def test_words(words: str, request_: Request) -> None:
    assert parse(words.split()) == request_


@pytest.mark.parametrize(
    ("words", "status", "usage"),
    [
        ("", 1, "stdout"),
        ("--process", 1, "stdout"),
        ("bogus", 1, "stderr"),
        ("3 plan", 1, "stderr"),
        ("bogus --help", 1, "stderr"),
        ("--help", 0, "stdout"),
        ("-h", 0, "stdout"),
        ("sandbox --help", 0, "stdout"),
        ("plan 3 -h", 0, "stdout"),
        ("build --process", 1, ""),
    ],
)
def test_refusals(words: str, status: int, usage: str) -> None:
    refusal = parse(words.split())
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.usage) == (status, usage)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("7", 7), ("-5", -5), ("+3", 3), ("010", 8), ("0x10", 16), ("2#11", 3), (" 4 ", 4), ("00", 0)],
)
def test_numbers_as_bash_has_them(text: str, number: int) -> None:
    assert integer(text, "N") == number


@pytest.mark.parametrize("text", ["", "abc", "--foo", "08", "1.5", "1 2", "0x", "2#9", "٣"])
def test_what_bash_would_die_of(text: str) -> None:
    with pytest.raises(SessionRefused) as refused:
        integer(text, "N")
    assert refused.value.exit_code == 1
    assert "N must be a whole number" in str(refused.value)
