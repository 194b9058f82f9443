"""The controller's command line: its oddities are what scripts rely on."""

from __future__ import annotations

import pytest

from bridge.errors import SessionRefused
from bridge.loop.setups.ralph_loop.controller import RalphRequest, Refusal, integer, parse


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ("plan", RalphRequest("plan")),
        ("plan 3", RalphRequest("plan", iterations="3")),
        ("plan 1 2", RalphRequest("plan", iterations="2")),
        ("plan abc", RalphRequest("plan", iterations="abc")),
        ("plan --foo", RalphRequest("plan", iterations="--foo")),
        ("plan -5", RalphRequest("plan", iterations="-5")),
        ("plan build", RalphRequest("build")),
        ("build 3 plan", RalphRequest("plan", iterations="3")),
        ("plan --process 4", RalphRequest("plan", process=True, iterations="4")),
        ("--process plan", RalphRequest("plan", process=True)),
        ("prompt my.md 2", RalphRequest("prompt", prompt_file="my.md", iterations="2")),
        ("prompt", RalphRequest("prompt")),
        ("prompt plan", RalphRequest("plan")),
        ("prompt ./plan", RalphRequest("prompt", prompt_file="./plan")),
        ("help", RalphRequest("help")),
        ("help plan", RalphRequest("help", topic="plan")),
        ("plan help build", RalphRequest("help", topic="build")),
        ("help nonsense", RalphRequest("help", topic="nonsense")),
        ("help help", RalphRequest("help", topic="help")),
        ("update", RalphRequest("update")),
        ("sandbox up now", RalphRequest("sandbox")),
        ("sandbox plan", RalphRequest("plan")),
    ],
)
def test_words(words: str, request_: RalphRequest) -> None:
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
