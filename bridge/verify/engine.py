"""Runs checks on scripts and tells what happens as one stream of events.

The order of the events is that of the scripts, whatever `jobs` is. Nothing that a script does ends the run: what
goes wrong in a check of ours makes that check unknown, and the next script has its events.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError, HookTimeout
from bridge.verify.folding import folded
from bridge.verify.intake import given_in, not_admitted, nothing_verified
from bridge.verify.model import (
    CheckResult,
    Outcome,
    RunFinished,
    RunStarted,
    ScriptFinished,
    ScriptStarted,
    Severity,
)
from bridge.verify.registry import CannotTell, NotApplicable, Problem, chosen, load
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from bridge.verify.intake import Given
    from bridge.verify.model import Event, Finding
    from bridge.verify.registry import Check

DEFAULT_TIMEOUT = 30.0
"""Seconds that running one script may take, all its checks together."""


class _Verification(NamedTuple):
    """What holds for every script of a run. current: what is looked at now, so that an interrupt can end it."""

    scripts: tuple[Given, ...]
    checks: tuple[Check, ...]
    bash: str | None
    timeout: float
    current: set[Subject]


class _PendingEvents(NamedTuple):
    """One script's events: both events, as soon as they are known."""

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
        ConfigurationError: an unknown code, a path that isn't there (ScriptNotFound), no path at all.
    """
    checks = chosen(load(), select, ignore, static_only=static_only)
    return _events(_Verification(given_in(paths), checks, bash, timeout, set()), max(1, jobs))


def _events(run: _Verification, jobs: int) -> Iterator[Event]:
    began = time.monotonic()
    severities: Counter[Severity] = Counter()
    unknown = 0
    verified = False
    yield RunStarted(tuple(given.path for given in run.scripts))
    # One job works in this thread's place, not beside it: threads of their own also let an interrupt in.
    executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="verify")
    pending: list[_PendingEvents] = []
    try:
        for given in run.scripts:
            events = _PendingEvents(Future(), Future())
            executor.submit(_verify_one, events, given, run)
            pending.append(events)
        for index, events in enumerate(pending):
            yield events.started.result()
            finished = events.finished.result()
            verified = verified or any(result.outcome is not Outcome.UNKNOWN for result in finished.results)
            if not verified and index == len(pending) - 1:
                finished = nothing_verified(finished)
            severities.update(finding.severity for finding in finished.findings)
            unknown += sum(result.outcome is Outcome.UNKNOWN for result in finished.results)
            yield finished
            pending[index] = _PendingEvents(Future(), Future())  # what was reported need not be kept
    except BaseException:  # an interrupt, or nobody wants the rest: what has begun must not take its whole time
        for subject in tuple(run.current):
            subject.budget.stop()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        if any(check.phase == "behaviour" for check in run.checks):
            import_module("bridge.verify.probe").end_leftovers()
    yield RunFinished(
        len(run.scripts),
        severities[Severity.ERROR],
        severities[Severity.WARNING],
        severities[Severity.INFO],
        time.monotonic() - began,
        unknown,
    )


def _verify_one(events: _PendingEvents, given: Given, run: _Verification) -> None:
    began = time.monotonic()
    try:
        try:
            subject = Subject(given.path, bash=run.bash, timeout=run.timeout, named=given.named)
        except Exception as error:  # noqa: BLE001 - a bug of ours: it costs this script and no other
            events.started.set_result(ScriptStarted(given.path, "out-of-scope"))
            unknown = _all_unknown(given.path, run.checks, began, f"{type(error).__name__}: {error}")
            events.finished.set_result(nothing_verified(unknown))
            return
        events.started.set_result(ScriptStarted(given.path, subject.kind))
        run.current.add(subject)
        try:
            events.finished.set_result(_checked(subject, run, began))
        finally:
            run.current.discard(subject)
    except BaseException as error:  # noqa: BLE001 - or whoever waits for the events would wait for ever
        for future in events:
            if not future.done():
                future.set_exception(error)


def _all_unknown(path: Path, checks: tuple[Check, ...], began: float, reason: str) -> ScriptFinished:
    results = tuple(CheckResult(check.code, check.title, Outcome.UNKNOWN, (), reason) for check in checks)
    return ScriptFinished(path, "out-of-scope", results, {}, path.stem, time.monotonic() - began, reason)


def _checked(subject: Subject, run: _Verification, began: float) -> ScriptFinished:
    results: list[CheckResult] = []
    if subject.kind == "out-of-scope":
        if (refused := not_admitted(subject, (given.path for given in run.scripts))) is not None:
            results = [refused]
    else:
        with subject:
            results = [run_check(subject, check) for check in run.checks if subject.kind in check.applies]
            results = list(folded(results))
        # Nobody may miss that nothing else can be determined.
        gates = (check for check in load().values() if check.gate and check not in run.checks)
        results[:0] = [
            result for gate in gates if (result := run_check(subject, gate)).outcome is not Outcome.PASSED
        ]
    finished = ScriptFinished(
        subject.path,
        subject.kind,
        tuple(results),
        subject.matrix if subject.kind != "out-of-scope" else {},
        subject.name,
        time.monotonic() - began,
        subject.reason,
    )
    lost = all(result.outcome is Outcome.UNKNOWN and not result.findings for result in results)
    return nothing_verified(finished) if results and lost else finished


def run_check(subject: Subject, check: Check) -> CheckResult:
    """One check on one script; nothing that goes wrong in it is raised."""
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
        hook = error.hook if error.hook in subject.facts.names else None
        findings.append(check._replace(hook=None).finding(subject, Problem(error.what, hook=hook)))
    except BridgeError as error:  # such as a script that can't be loaded: other checks say what is wrong with it
        outcome, reason = Outcome.UNKNOWN, str(error)
    except Exception as error:  # noqa: BLE001 - a check of ours, or what it runs on, is broken: the others go on
        outcome, reason = Outcome.UNKNOWN, f"{type(error).__name__}: {error}"
    if findings:
        outcome = Outcome.FAILED
    return CheckResult(check.code, check.title, outcome, tuple(findings), reason, time.monotonic() - began)


def _precondition(subject: Subject, check: Check) -> None:
    """What would make any answer of the check worthless."""
    if not check.gate and subject.syntax is not None:
        raise CannotTell(f"not valid bash: line {subject.syntax[0][0]}: {subject.syntax[0][1]}")
    if check.phase == "static":
        return
    if subject.refused:
        raise CannotTell(subject.refused)
    subject.budget.start()
    if not check.after_timeout and not subject.budget.remaining:
        raise CannotTell(f"running the script took longer than {subject.budget.seconds:g} s")
