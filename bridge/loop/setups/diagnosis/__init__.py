"""What ``ralph-bridge doctor`` is made of: checks as data, one examination of them, and what every setup shares.

One check never costs another its turn: what goes wrong in one, an endless wait included, is that one's failure.
A setup brings its own checks (``bmalph/doctor``, ``ralph_loop/doctor``); those in `checks` are for all of them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, Protocol, TypeVar

from bridge.base.records import dataclass
from bridge.errors import BridgeError, ProjectCodeNotRun
from bridge.shell import consent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


class Case(Protocol):
    """The least that a check is told about: the project's folder, and the environment that a loop would have."""

    @property
    def project(self) -> Path: ...

    @property
    def env(self) -> Mapping[str, str]: ...


C_contra = TypeVar("C_contra", contravariant=True)
C = TypeVar("C")


class Skipped(Exception):
    """A check can't be made because of something that another check reports; says what."""


class Examined(NamedTuple):
    """What a check found, and what to do about it."""

    status: Literal["passed", "failed", "warning"]
    detail: str = ""
    hint: str = ""


def passed(detail: str = "") -> Examined:
    """All is well."""
    return Examined("passed", detail)


def failed(detail: str, hint: str) -> Examined:
    """A loop would not start, or not do what it is for."""
    return Examined("failed", detail, hint)


def warned(detail: str, hint: str = "") -> Examined:
    """A loop runs, and people should know."""
    return Examined("warning", detail, hint)


def failed_with(error: BridgeError, hint: str = "") -> Examined:
    """An error of ours as a failure; `hint` where it names no next step itself."""
    what, next_step = error.parts
    if isinstance(error, ProjectCodeNotRun):
        return warned(f"not looked at: {what}", next_step)
    return failed(what, next_step or hint)


@dataclass(frozen=True, slots=True)
class DoctorCheck(Generic[C_contra]):
    """One check.

    Attributes:
        label: what is true when it passes.
        run: the check; raises :class:`Skipped`. Whatever else it raises is its failure.
        timeout: seconds that it may take.
        fix: does what the check names as its next step, as far as that is safe; returns what it did, in one
            line, or ''. Raises what `run` does.
    """

    label: str
    run: Callable[[C_contra], Examined]
    timeout: float = 15.0
    fix: Callable[[C_contra], str] | None = None


class DoctorFinding(NamedTuple):
    """What one check found.

    Attributes:
        id, label: the check's.
        status, detail, hint: of its :class:`Examined`.
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


def examine(case: C, checks: Mapping[str, DoctorCheck[C]], *, fix: bool = False) -> Iterator[DoctorFinding]:
    """Make one check after the other; with `fix` do what is safe of the steps that they name, and look again."""
    for name, check in checks.items():
        answer, fixed = _bounded(check, lambda check=check: _guarded(check.run, case)), ""  # type: ignore[misc]
        if fix and check.fix is not None:
            done = _bounded(check, lambda fix=check.fix: _fixed(fix, case))  # type: ignore[misc]
            if done.status != "passed":
                answer = done
            elif done.detail:
                fixed = done.detail
                answer = _bounded(check, lambda check=check: _guarded(check.run, case))  # type: ignore[misc]
        yield DoctorFinding(name, check.label, *answer, fixed, check.fix is not None and bool(answer.hint))


def _bounded(check: DoctorCheck[C], look: Callable[[], Examined]) -> Examined:
    found: list[Examined] = []
    # A thread that hangs (a file on a dead network mount) is left behind; it doesn't keep the process.
    worker = threading.Thread(target=lambda: found.append(look()), daemon=True)
    worker.start()
    worker.join(check.timeout)
    if not found:
        return failed(f"took longer than {check.timeout:g} s", "look at what it looks at by hand")
    return found[0]


def _fixed(fix: Callable[[C], str], case: C) -> Examined:
    def run(case: C) -> Examined:
        try:
            return passed(fix(case))
        except Skipped:
            return passed()

    return _guarded(run, case)


def _guarded(run: Callable[[C], Examined], case: C) -> Examined:
    try:
        return run(case)
    except Skipped as why:
        return warned(f"not looked at: {why}")
    except BridgeError as error:
        return failed_with(error)
    except Exception as error:  # noqa: BLE001 - a bug of ours, or of the system: it is this check's failure and nobody else's
        return failed(f"{type(error).__name__}: {error}", "please report it")


def ask(argv: Sequence[str], case: Case, *, timeout: float = 10.0) -> tuple[int | None, str]:
    """Run a program in the project; return its status (None: it took too long) and its output."""
    from bridge.base.git.immune import environment, path_outside, program
    from bridge.base.process import ask as process
    from bridge.base.process.argv import resolve

    env, cwd = case.env, str(case.project)
    git = argv[0] == "git"
    if git:
        argv, env = [program(env, case.project), *argv[1:]], environment(env)
    if consent.looking():  # nor programs that lie in the project, or are chosen by files in it
        env = {**env, "PATH": path_outside(env, cwd)}
        cwd = cwd if git else "/"
    ran = process.ask(resolve(argv, cwd=cwd, env=env), cwd=cwd, env=env, patience=timeout)
    if ran.status == process.TOO_LONG:
        return None, ""
    return ran.status, (ran.out.decode("utf-8", "replace") + ran.err[:4096]).strip()
