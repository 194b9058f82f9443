"""The model that a loop is asked to use reaches its CLI in every turn, in every kind, or is refused at once."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.night.conftest import each_loop
from tests.night.test_fallback import install, own
from tests.night.test_gates import CODEX

if TYPE_CHECKING:
    from tests.examples import Project

NOTE = 'printf \'%s\\n\' "$@" > "$kept/turn.$turn/arguments"'


def told(night: Project, number: int = 1) -> list[str]:
    """The options for model and effort that a turn has got, with their values."""
    pairs = pairwise(night.of_turn(number, "arguments").splitlines())
    return [f"{word} {value}" for word, value in pairs if word in ("--model", "--effort")]


def usage(night: Project) -> int:
    """The status of a loop whose options make no sense; two originals know one failure only."""
    return 1 if night.example.busy == 1 else 2


def test_each_turn_gets_it_or_the_loop_does_not_begin(night: Project) -> None:
    night.turns(otherwise=f"{NOTE}; work")
    loop = night.start("--max-iterations", "2", "--model", "opus:high")
    status = loop.finished()
    if night.example.agent:
        assert status == usage(night), loop.said
        assert "builds its command itself" in loop.said
        assert "next: --set " in loop.said
        assert (night.begun(), night.turn_records()) == (0, [])
        return
    assert status == night.example.used_up, loop.said
    assert told(night, 1) == told(night, 2) == ["--model opus", "--effort high"]
    assert night.record()["tool"] == f"{night.example.tool}@opus:high"
    night.readable()


@each_loop
def test_nothing_begins_with_an_effort_that_the_cli_does_not_have(night: Project) -> None:
    if night.example.agent:
        return
    night.turns(otherwise="work")
    loop = night.start("--model", "opus:minimal")
    assert loop.finished() == usage(night), loop.said
    assert "the efforts of Claude Code are low, medium, high, xhigh, max" in loop.said
    assert (night.begun(), night.turn_records()) == (0, [])


@each_loop
def test_another_tool_has_a_model_of_its_own(night: Project) -> None:
    install(night)
    night.turns(f"{NOTE}; limited 600")
    words = ["--max-iterations", "2", "--retry-delay", "0", "--fallback", "driver:codex@gpt-5:low"]
    loop = night.start(*words, *([] if night.example.agent else ["--model", "haiku"]))
    assert loop.finished() == night.example.used_up, loop.said
    assert told(night) == ([] if night.example.agent else ["--model haiku"])
    tools = [record["tool"].removeprefix("driver ") for record in night.turn_records()]
    assert tools[0].removesuffix("@haiku") == own(night)
    assert set(tools[1:]) == {"codex@gpt-5:low"}
    words = (night.kept / "codex.1/arguments").read_text().splitlines()
    assert words[:5] == ["exec", "--model", "gpt-5", "-c", "model_reasoning_effort=low"]


@each_loop
def test_a_review_has_a_model_of_its_own(night: Project) -> None:
    night.write("bin/codex", CODEX)
    (night.kept / "review-steps").mkdir()
    (night.kept / "review-steps/else").write_text("say 'NO ISSUES FOUND'\n")
    night.turns(otherwise=f"touched; {night.example.done}")
    loop = night.start("--max-iterations", "3", "--review", "driver:codex@gpt-5:low")
    assert loop.finished() == 0, loop.said
    words = (night.kept / "review.1/arguments").read_text().splitlines()
    assert words[:5] == ["exec", "--model", "gpt-5", "-c", "model_reasoning_effort=low"]
