"""What ``ralph-bridge doctor`` is made of: checks as data, one examination of them, and what every setup shares.

One check never costs another its turn: what goes wrong in one, an endless wait included, is that one's failure.
A setup brings its own checks (``bmalph/doctor``, ``ralph_loop/doctor``); `machine` and `cli` are for all of them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, Protocol, TypeVar

from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "Answer",
    "Check",
    "Finding",
    "NotLookedAt",
    "Place",
    "ask",
    "examine",
    "failed",
    "passed",
    "told",
    "warned",
]

Verdict = Literal["passed", "failed", "warning"]


class Place(Protocol):
    """The least that a check is told about: the project's folder, and the environment that a loop would have."""

    @property
    def project(self) -> Path:
        """The project's folder, absolute."""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment."""


C_contra = TypeVar("C_contra", contravariant=True)
C = TypeVar("C")


class NotLookedAt(Exception):
    """A check can't be made because of something that another check reports; says what."""


class Answer(NamedTuple):
    """What a check found: the verdict, what was seen, and what to do about it."""

    status: Verdict
    detail: str = ""
    hint: str = ""


def passed(detail: str = "") -> Answer:
    """All is well."""
    return Answer("passed", detail)


def failed(detail: str, hint: str) -> Answer:
    """A loop would not start, or not do what it shall."""
    return Answer("failed", detail, hint)


def warned(detail: str, hint: str = "") -> Answer:
    """A loop runs, and people should know."""
    return Answer("warning", detail, hint)


def told(error: BridgeError, hint: str = "") -> Answer:
    """What an error of ours says, as a failure; `hint` where it names no next step itself."""
    what, _, next_step = str(error).partition("\n  next: ")
    return failed(what, next_step or hint)


@dataclass(frozen=True, slots=True)
class Check(Generic[C_contra]):
    """One check.

    Attributes:
        label: what is well when it passes.
        run: the check; raises :class:`NotLookedAt`. Whatever else it raises is told as its failure.
        timeout: seconds that it may take.
        fix: does what the check names as its next step, as far as that is safe; returns what it did, in one
            line, or ''. Raises what `run` does.
    """

    label: str
    run: Callable[[C_contra], Answer]
    timeout: float = 15.0
    fix: Callable[[C_contra], str] | None = None


class Finding(NamedTuple):
    """What one check found.

    Attributes:
        id, label: the check's.
        status: ``passed``, ``warning`` or ``failed``.
        detail: what was seen.
        hint: what to do about it.
        fixed: what was done about it already; '' when nothing was.
        fixable: the check knows how to do what is safe of its hint.
    """

    id: str
    label: str
    status: str
    detail: str
    hint: str
    fixed: str = ""
    fixable: bool = False


def examine(case: C, checks: Mapping[str, Check[C]], *, fix: bool = False) -> Iterator[Finding]:
    """Make every check, one after the other.

    Args:
        case: what the checks get.
        checks: by their stable ids.
        fix: do what is safe of the steps that they name, and look again.
    """
    for name, check in checks.items():
        answer, fixed = _bounded(check, lambda check=check: _guarded(check.run, case)), ""  # type: ignore[misc]
        if fix and check.fix is not None:
            done = _bounded(check, lambda fix=check.fix: _fixed(fix, case))  # type: ignore[misc]
            if done.status != "passed":
                answer = done
            elif done.detail:
                fixed = done.detail
                answer = _bounded(check, lambda check=check: _guarded(check.run, case))  # type: ignore[misc]
        yield Finding(name, check.label, *answer, fixed, check.fix is not None and bool(answer.hint))


def _bounded(check: Check[C], look: Callable[[], Answer]) -> Answer:
    found: list[Answer] = []
    # A thread that hangs (a file on a dead network mount) is left behind; it doesn't keep the process.
    worker = threading.Thread(target=lambda: found.append(look()), daemon=True)
    worker.start()
    worker.join(check.timeout)
    if not found:
        return failed(f"took longer than {check.timeout:g} s", "look at what it looks at by hand")
    return found[0]


def _fixed(fix: Callable[[C], str], case: C) -> Answer:
    def run(case: C) -> Answer:
        try:
            return passed(fix(case))
        except NotLookedAt:
            return passed()

    return _guarded(run, case)


def _guarded(run: Callable[[C], Answer], case: C) -> Answer:
    try:
        return run(case)
    except NotLookedAt as why:
        return warned(f"not looked at: {why}")
    except BridgeError as error:
        return told(error)
    except Exception as error:  # noqa: BLE001 - a bug of ours, or of the system: it is this check's failure and nobody else's
        return failed(f"{type(error).__name__}: {error}", "please report it")


def ask(argv: Sequence[str], place: Place, *, timeout: float = 10.0) -> tuple[int | None, str]:
    """Run a program in the project; return its status (None: it took too long) and its output.

    Raises:
        ProgramNotFound, ProgramNotStarted: it can't be started.
    """
    from bridge.process import ask as process
    from bridge.process.argv import resolve

    command = resolve(argv, cwd=place.project, env=place.env)
    ran = process.ask(command, cwd=place.project, env=place.env, patience=timeout)
    if ran.status == process.TOO_LONG:
        return None, ""
    return ran.status, (ran.out.decode("utf-8", "replace") + ran.err[:4096]).strip()
