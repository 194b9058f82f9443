"""A turn resumes the session that the turn before it left; where that left none, it begins a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.examples import SESSION

if TYPE_CHECKING:
    from tests.examples import Project

_NOTED = 'printf "%s\\n" "$@" > "$kept/turn.$turn/arguments"'
_NAMELESS = (
    'echo "turn $turn" >> work.txt\n'
    'printf \'{"type":"result","subtype":"success","is_error":false,"result":"Worked on item %s."}\\n\' "$turn"'
)
_FAILS_NAMELESS = 'echo "connection reset" >&2; exit 1'


def resumed(night: Project) -> list[bool]:
    """Of each turn, whether its command line resumed the session."""
    return [SESSION in night.of_turn(number, "arguments") for number in range(1, night.begun() + 1)]


def started(night: Project, *steps: str, iterations: int) -> None:
    night.turns(*(f"{_NOTED}\n{step}" for step in steps), otherwise=f"{_NOTED}\nwork")
    loop = night.start("--max-iterations", str(iterations), "--retry-delay", "0")
    assert loop.finished() == night.example.used_up, loop.said


def test_a_turn_that_gave_no_session_is_followed_by_a_new_one(night: Project) -> None:
    started(night, "work", _NAMELESS, iterations=4)
    assert resumed(night) == [False, night.example.sessions, False, night.example.sessions]


def test_so_is_the_last_turn_of_a_run(night: Project) -> None:
    started(night, "work", _NAMELESS, iterations=2)
    started(night, "work", _NAMELESS, iterations=1)
    assert resumed(night) == [False, night.example.sessions, False]


def test_a_turn_that_failed_is_repeated_with_the_session_that_it_was_given(night: Project) -> None:
    started(night, "work", _FAILS_NAMELESS, iterations=3)
    assert resumed(night)[:3] == [False, night.example.sessions, night.example.sessions]
