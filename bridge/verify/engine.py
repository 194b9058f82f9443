"""Runs checks on scripts and tells what happens as one stream of events.

The order of the events is that of the scripts, whatever `jobs` is. Nothing that a script does ends the run: what
goes wrong in a check of ours makes that check unknown, and the next script has its turn.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError, ConfigurationError, HookTimeout, ScriptNotFound
from bridge.verify.checks import load
from bridge.verify.model import (
    CheckResult,
    Outcome,
    RunFinished,
    RunStarted,
    ScriptFinished,
    ScriptStarted,
    Severity,
)
from bridge.verify.registry import CannotTell, NotApplicable
from bridge.verify.select import chosen
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.verify.model import Event, Finding
    from bridge.verify.registry import Check

__all__ = ["DEFAULT_TIMEOUT", "scripts_in", "verify"]

DEFAULT_TIMEOUT = 30.0
"""Seconds that running one script may take, all its checks together."""


class _Turn(NamedTuple):
    """One script's turn: both events, as soon as they are known."""

    started: Future[ScriptStarted]
    finished: Future[ScriptFinished]


def verify(
    paths: Iterable[str | os.PathLike[str]],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    jobs: int = 1,
    static_only: bool = False,
    bash: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> Iterator[Event]:
    """Verify scripts, and the scripts in folders.

    Args:
        paths: files or folders.
        select: codes or beginnings of codes (``RB01``); only these checks. Empty: all.
        ignore: the same; not these.
        jobs: scripts that are verified at the same time.
        static_only: execute nothing of the scripts.
        bash: the program; default as for `bridge.shell.Shell`.
        timeout: seconds that running one script may take.

    Raises:
        ConfigurationError: an unknown code, a path that isn't there (ScriptNotFound), a folder without scripts.
    """
    checks = chosen(load(), select, ignore, static_only=static_only)
    scripts = scripts_in(paths)
    return _events(scripts, checks, max(1, jobs), bash, timeout)


def _events(
    scripts: tuple[Path, ...], checks: tuple[Check, ...], jobs: int, bash: str | None, timeout: float
) -> Iterator[Event]:
    began = time.monotonic()
    severities: Counter[Severity] = Counter()
    unknown = 0
    yield RunStarted(scripts)
    # One job works in this thread's place, not beside it: threads of their own also let an interrupt in.
    executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="verify")
    turns: list[_Turn] = []
    at_work: set[Subject] = set()
    try:
        for path in scripts:
            turn = _Turn(Future(), Future())
            executor.submit(_take, turn, path, checks, bash, timeout, at_work)
            turns.append(turn)
        for index, turn in enumerate(turns):
            yield turn.started.result()
            finished = turn.finished.result()
            severities.update(finding.severity for finding in finished.findings)
            unknown += sum(result.outcome is Outcome.UNKNOWN for result in finished.results)
            yield finished
            turns[index] = _Turn(Future(), Future())  # what was reported need not be kept
    except BaseException:  # an interrupt, or nobody wants the rest: what has begun must not take its whole time
        for subject in tuple(at_work):
            subject.stop()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        if any(check.phase == "behaviour" for check in checks):
            import_module("bridge.verify.probe.leftovers").end_leftovers()
    yield RunFinished(
        len(scripts),
        severities[Severity.ERROR],
        severities[Severity.WARNING],
        severities[Severity.INFO],
        time.monotonic() - began,
        unknown,
    )


def _take(
    turn: _Turn, path: Path, checks: tuple[Check, ...], bash: str | None, timeout: float, at_work: set[Subject]
) -> None:
    began = time.monotonic()
    try:
        try:
            subject = Subject(path, bash=bash, timeout=timeout)
        except Exception as error:  # a bug of ours: it costs this script and no other
            turn.started.set_result(ScriptStarted(path, "out-of-scope"))
            turn.finished.set_result(_baffling(path, checks, began, f"{type(error).__name__}: {error}"))
            return
        turn.started.set_result(ScriptStarted(path, subject.kind))
        at_work.add(subject)
        try:
            turn.finished.set_result(_examined(subject, checks, began))
        finally:
            at_work.discard(subject)
    except BaseException as error:  # or whoever waits for the turn would wait for ever
        for future in turn:
            if not future.done():
                future.set_exception(error)


def _baffling(path: Path, checks: tuple[Check, ...], began: float, reason: str) -> ScriptFinished:
    results = tuple(CheckResult(check.code, check.title, Outcome.UNKNOWN, (), reason) for check in checks)
    return ScriptFinished(path, "out-of-scope", results, {}, path.stem, time.monotonic() - began, reason)


def _examined(subject: Subject, checks: tuple[Check, ...], began: float) -> ScriptFinished:
    results: list[CheckResult] = []
    if subject.kind != "out-of-scope":
        try:
            results = [_result(subject, check) for check in checks if subject.kind in check.applies]
        finally:
            subject.close()
    elif not subject.readable:
        results = [_unreadable(subject, check) for check in checks if check.code == "RB001"]
    return ScriptFinished(
        subject.path,
        subject.kind,
        tuple(results),
        subject.matrix if subject.kind != "out-of-scope" else {},
        subject.name,
        time.monotonic() - began,
        subject.reason,
    )


def _unreadable(subject: Subject, check: Check) -> CheckResult:
    finding = subject.finding(check.code, subject.reason, expected="a script that can be read")
    return CheckResult(check.code, check.title, Outcome.FAILED, (finding,))


def _result(subject: Subject, check: Check) -> CheckResult:
    began = time.monotonic()
    findings: list[Finding] = []
    outcome, reason = Outcome.PASSED, ""
    try:
        _precondition(subject, check)
        findings.extend(check.run(subject))
    except CannotTell as why:
        outcome, reason = Outcome.UNKNOWN, str(why)
    except NotApplicable as why:
        outcome, reason = Outcome.SKIPPED, str(why)
    except HookTimeout as error:
        findings.append(subject.finding(check.code, error.what, hook=_hook(subject, error.hook)))
    except BridgeError as error:  # such as a script that can't be loaded: other checks say what is wrong with it
        outcome, reason = Outcome.UNKNOWN, str(error)
    except Exception as error:  # a check of ours, or what it runs on, is broken: the others go on
        outcome, reason = Outcome.UNKNOWN, f"{type(error).__name__}: {error}"
    if findings:
        outcome = Outcome.FAILED
    return CheckResult(check.code, check.title, outcome, tuple(findings), reason, time.monotonic() - began)


def _precondition(subject: Subject, check: Check) -> None:
    """What would make any answer of the check worthless."""
    if check.code != "RB001" and subject.syntax is not None:
        raise CannotTell(f"not valid bash: line {subject.syntax[0][0]}: {subject.syntax[0][1]}")
    if check.phase == "behaviour" and subject.refused:
        raise CannotTell(subject.refused)
    # RB062 says which hook has used up the time.
    if check.phase == "behaviour" and check.code != "RB062" and not subject.remaining:
        raise CannotTell(f"running the script took longer than {subject.timeout:g} s")


def _hook(subject: Subject, name: str) -> str | None:
    return name if name in subject.facts.names else None


def scripts_in(paths: Iterable[str | os.PathLike[str]]) -> tuple[Path, ...]:
    """The scripts: files as they are given, of folders the ``*.sh`` in all depths, in order of their names.

    Hidden folders are left out, and links to folders are not followed. Nothing comes twice.

    Raises:
        ScriptNotFound: a path isn't there.
        ConfigurationError: no path was given, or a folder holds no script.
    """
    found: dict[str, Path] = {}
    given = [Path(path) for path in paths]
    if not given:
        raise ConfigurationError("nothing to verify: give a script or a folder")
    for path in given:
        if path.is_dir():
            inside = sorted(_inside(path))
            if not inside:
                raise ConfigurationError(f"{path} holds no *.sh file; give the folder of the scripts, or a script")
            for each in inside:
                found.setdefault(os.path.abspath(each), each)
        elif path.exists() or path.is_symlink():
            found.setdefault(os.path.abspath(path), path)
        else:
            raise ScriptNotFound(f"{path} does not exist; check the path")
    return tuple(found.values())


def _inside(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(".sh") and not name.startswith("."):
                path = Path(parent, name)
                if not path.is_symlink() or not path.exists() or path.resolve().is_relative_to(folder.resolve()):
                    yield path
