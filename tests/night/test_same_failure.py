"""A tool that can't work here ends its loop after three turns, in every kind, with its words and what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests import examples
from tests.night.conftest import mostly_nightly

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.examples import Example, Project

_ROOT = "--dangerously-skip-permissions cannot be used with root/sudo privileges"
_NESTED = "Claude Code cannot be launched inside another Claude Code session."
_ODD = "The thing broke: E_ODD"
FAILURES = {
    "root": (f"echo '{_ROOT}' >&2; exit 1", f"{_ROOT} · next: run it as another user"),
    "plain text": (f"echo '{_ODD}'; exit 1", f"{_ODD} · next: try it by hand"),
    "an event": (f"say '{_ODD}' true; exit 1", f"{_ODD} · next: try it by hand"),
}
PROMPTS = {
    "plain": ".ralph/PROMPT.md",
    "plain-agent": ".ralph/PROMPT.md",
    "bmalph": ".ralph/PROMPT.md",
    "frankbria": ".ralph/PROMPT.md",
    "ralph-loop": ".ralph/prompts/plan.md",
    "wiggum-driver": "PROMPT.md",
    "wiggum-agent": "PROMPT.md",
    "playbook": "PROMPT_build.md",
    "snarktank": "scripts/ralph/CLAUDE.md",
}
"""The files that turns are given; the other kinds have none."""


def _plain_agent(plain: Example) -> Example:
    words = ("run", "--agent", "bin/night.sh")
    return replace(plain, name="plain-agent", words=words, agent=True, tool="agent night", sessions=False)


KINDS = {**examples.EXAMPLES, "plain-agent": _plain_agent(examples.EXAMPLES["plain"])}


@pytest.fixture(params=mostly_nightly(KINDS.values()), ids=lambda example: example.name)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    with examples.project(request.param, tmp_path) as made:
        yield made


def times(kind: Project) -> int:
    """How often it is tried: a script may know itself what to do about a call that fails."""
    return 10 if kind.example.scripted else 3


def _last(said: str) -> str:
    return " ".join(said.splitlines()[-1:])


@pytest.mark.parametrize("name", FAILURES)
def test_the_same_failure_from_the_start(kind: Project, name: str) -> None:
    step, words = FAILURES[name]
    kind.turns(otherwise=step)
    loop = kind.start("--max-iterations", "12", "--retry-delay", "0")
    assert loop.finished() == kind.example.refused, loop.said
    assert kind.begun() == times(kind), loop.said
    assert f"{times(kind)} turns in a row failed in the same way" in _last(loop.said)
    assert words in _last(loop.said)
    assert words in kind.status()["ended"]["detail"]


def test_in_live_output_too(kind: Project) -> None:
    if "--no-live" not in kind.example.words:
        return
    words = tuple(each for each in kind.example.words if each != "--no-live")
    step, expected = FAILURES["plain text"]
    kind.turns(otherwise=step)
    loop = kind.start("--max-iterations", "9", "--retry-delay", "0", example=replace(kind.example, words=words))
    assert loop.finished() == kind.example.refused, loop.said
    assert (kind.begun(), expected in _last(loop.said)) == (3, True), loop.said


def test_an_interpreter_that_is_missing(kind: Project) -> None:
    kind.write("bin/claude", "#!/usr/bin/env no-such-node\n")
    loop = kind.start("--max-iterations", "12", "--retry-delay", "0")
    assert loop.finished() == kind.example.refused, loop.said
    assert "no-such-node" in _last(loop.said)
    assert "next: " in _last(loop.said)
    assert len(kind.turn_records()) == times(kind)


def test_a_session_around_the_loop_is_none_around_its_turns(kind: Project) -> None:
    nested = f'if [ -n "$CLAUDECODE$CLAUDE_CODE_ENTRYPOINT" ]; then echo "{_NESTED}" >&2; exit 1; fi; work'
    kind.turns(otherwise=nested)
    loop = kind.start("--max-iterations", "1", CLAUDECODE="1", CLAUDE_CODE_ENTRYPOINT="cli")
    assert loop.finished() == kind.example.used_up, loop.said
    assert [each["result"] for each in kind.turn_records()] == ["success"], loop.said


@pytest.mark.parametrize("how", ["rm {}", ": > {}", "echo > {}"])
def test_a_prompt_that_a_turn_has_taken_away(kind: Project, how: str) -> None:
    prompt = PROMPTS.get(kind.example.name)
    if prompt is None or kind.example.scripted:  # what a script then does is its own matter
        return
    kind.turns("work", f"touched; {how.format(prompt)}; say gone")
    loop = kind.start("--max-iterations", "9", "--retry-delay", "0")
    assert loop.finished() == kind.example.refused, loop.said
    assert kind.begun() == 2
    assert f"{prompt} is " in _last(loop.said)
    assert "since turn 2" in _last(loop.said)
