"""``RALPH_MAX_ITERATIONS`` and ``RALPH_COMPLETION_PROMISE``: what stands for options that nobody gave. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.wiggum.state import State

__all__ = ["MAX_ITERATIONS", "PROMISE", "Limits", "is_promise", "read_limits"]

MAX_ITERATIONS = "RALPH_MAX_ITERATIONS"
PROMISE = "RALPH_COMPLETION_PROMISE"


class Limits(NamedTuple):
    """What the environment says; None where it says nothing. `wrong`: what it says that makes no sense."""

    max_iterations: int | None = None
    promise: str | None = None
    wrong: tuple[str, ...] = ()

    def over(self, state: State) -> State:
        """Put it in the place of those values of a state that nobody named."""
        unnamed = state.by_default
        most = self.max_iterations if "max_iterations" in unnamed else None
        promise = self.promise if "completion_promise" in unnamed else None
        return replace(
            state,
            max_iterations=state.max_iterations if most is None else most,
            completion_promise=state.completion_promise if promise is None else promise,
        )


def read_limits(env: Mapping[str, str]) -> Limits:
    """Read the variables; one that is empty is as good as none."""
    wrong = []
    most, promise = env.get(MAX_ITERATIONS, "").strip(), env.get(PROMISE, "")
    number = int(most) if most.isascii() and most.isdecimal() and len(most) < 10 else 0
    if most and not number:
        wrong.append(f"{MAX_ITERATIONS} is {most!r}, expected a whole number from 1")
    if promise and not is_promise(promise):
        wrong.append(f"{PROMISE} is {promise!r}, expected a text, such as DONE")
        promise = ""
    return Limits(number or None, promise or None, tuple(wrong))


def is_promise(text: str) -> bool:
    """Say whether a text can stand in the tags of a promise."""
    return bool(text.strip()) and "</promise>" not in text
