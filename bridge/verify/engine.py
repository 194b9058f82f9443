"""Runs checks on scripts and tells what happens as one stream of events.

The order of the events is that of the scripts, whatever `jobs` is. Nothing that a script does ends the run: what
goes wrong in a check of ours makes that check unknown, and the next script has its events.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.errors import BridgeError, HookTimeout
from bridge.shell import Shell
from bridge.verify.budget import strain
from bridge.verify.folding import folded
from bridge.verify.intake import given_in, not_admitted, nothing_verified
from bridge.verify.marked import recording_beside
from bridge.verify.model import (
    CheckOutcome,
    CheckResult,
    RunFinished,
    RunStarted,
    ScriptFinished,
    ScriptStarted,
    Severity,
)
from bridge.verify.registry import CannotTell, NotApplicable, Problem, chosen, load
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.verify.intake import GivenScript
    from bridge.verify.model import Coverage, Event, Finding, Mend
    from bridge.verify.registry import Check

DEFAULT_TIMEOUT = 30.0
"""Seconds that running one script may take, all its checks together; more on a machine that is busy."""

LONGEST = 120.0
"""The same for a script whose calls come back, and take long."""

Mending = Literal["no", "show", "write"]
"""Whether mends are looked for, and whether they are written to the scripts."""


@dataclass(frozen=True, kw_only=True)
class _Verification:
    """What holds for every script of a run. current: what is looked at now, so that an interrupt can end it."""

    scripts: tuple[GivenScript, ...]
    select: Sequence[str]
    ignore: Sequence[str]
    static_only: bool
    bash: str | None
    timeout: float
    longest: float
    mending: Mending = "no"
    coverage: bool = False
    current: set[Subject] = field(default_factory=set)

    def checks(self, kind: str) -> tuple[Check, ...]:
        return chosen(self.select, self.ignore, kind, static_only=self.static_only)

    def subject(self, path: Path, *, named: bool = False, trace: Path | None = None) -> Subject:
        return Subject(path, bash=self.bash, timeout=self.timeout, longest=self.longest, named=named, trace=trace)


class _PendingEvents(NamedTuple):
    """One script's events: both events, as soon as they are known."""

    started: Future[ScriptStarted]
    finished: Future[ScriptFinished]


def verify(
    paths: Iterable[str | os.PathLike[str]],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    jobs: int | None = None,
    static_only: bool = False,
    bash: str | None = None,
    timeout: float | None = None,
    mending: Mending = "no",
    coverage: bool = False,
) -> Iterator[Event]:
    """Verify scripts, and the scripts in folders.

    Args:
        paths: files or folders.
        select: codes or beginnings of codes (``RB01``); only these checks. Empty: all.
        ignore: the same; not these.
        jobs: scripts that are verified at the same time. Default: one for each CPU of this process, at most 4.
        static_only: execute nothing of the scripts.
        bash: the program; default as for `bridge.shell.Shell`.
        timeout: seconds that running one script may take. Default: `DEFAULT_TIMEOUT`, and up to `LONGEST` for one
            whose calls come back.
        mending: look for mends of what is found; with ``write``, apply them and verify again.
        coverage: tell what of the scripts was reached: they are run a second time for it.

    Raises:
        ConfigurationError: an unknown code, a path that isn't there (ScriptNotFound), no path at all, a recording
            beside a script that is none.
        ShellStartFailed: there is no bash, or it doesn't run: that is no fault of any script.
    """
    if select or ignore:
        chosen(select, ignore)  # an unknown code is known before anything runs
    scripts = given_in(paths)
    for given in scripts:
        recording_beside(given.path)
    with Shell(bash=bash) as shell:
        shell.call(":")
    busy = strain()
    run = _Verification(
        scripts=scripts,
        select=select,
        ignore=ignore,
        static_only=static_only,
        bash=bash,
        timeout=DEFAULT_TIMEOUT * busy if timeout is None else timeout,
        longest=LONGEST * busy if timeout is None else timeout,
        mending=mending,
        coverage=coverage,
    )
    return _events(run, jobs or _cpus())


def _cpus() -> int:
    mine = getattr(os, "sched_getaffinity", None)  # not on macOS
    return min(4, len(mine(0)) if mine else os.cpu_count() or 1)


def _events(run: _Verification, jobs: int) -> Iterator[Event]:
    began = time.monotonic()
    severities: Counter[Severity] = Counter()
    unknown = refused = 0
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
            verified = verified or any(result.outcome is not CheckOutcome.UNKNOWN for result in finished.results)
            if not verified and index == len(pending) - 1:
                finished = nothing_verified(finished)
            severities.update(finding.severity for finding in finished.findings)
            unknown += sum(result.unjudged for result in finished.results)
            refused += finished.mend is not None and bool(finished.mend.refused)
            yield finished
            pending[index] = _PendingEvents(Future(), Future())  # what was reported need not be kept
    except BaseException:  # an interrupt, or nobody wants the rest: what has begun must not take its whole time
        for subject in tuple(run.current):
            subject.budget.stop()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        if (scratch := sys.modules.get("bridge.verify.probe.scratch")) is not None:  # else nothing was run
            scratch.end_leftovers()
    yield RunFinished(
        len(run.scripts),
        severities[Severity.ERROR],
        severities[Severity.WARNING],
        severities[Severity.INFO],
        time.monotonic() - began,
        unknown,
        refused,
    )


def _verify_one(events: _PendingEvents, given: GivenScript, run: _Verification) -> None:
    began = time.monotonic()
    try:
        try:
            subject = run.subject(given.path, named=given.named)
        except Exception as error:  # noqa: BLE001 - a bug of ours: it costs this script and no other
            events.started.set_result(ScriptStarted(given.path, "out-of-scope"))
            unknown = _all_unknown(given.path, run.checks(""), began, f"{type(error).__name__}: {error}")
            events.finished.set_result(nothing_verified(unknown))
            return
        events.started.set_result(ScriptStarted(given.path, subject.kind))
        finished = _checked(subject, run, began)
        if finished.mend is not None and run.mending == "write":
            finished = _written(finished, finished.mend, run, began)
        if run.coverage and finished.kind != "out-of-scope":
            finished = finished._replace(coverage=_coverage(given.path, run))
        events.finished.set_result(finished)
    except BaseException as error:  # noqa: BLE001 - or whoever waits for the events would wait for ever
        for future in events:
            if not future.done():
                future.set_exception(error)


def _all_unknown(path: Path, checks: tuple[Check, ...], began: float, reason: str) -> ScriptFinished:
    results = tuple(CheckResult(check.code, check.title, CheckOutcome.UNKNOWN, (), reason) for check in checks)
    return ScriptFinished(path, "out-of-scope", results, {}, path.stem, time.monotonic() - began, reason)


def _results(
    subject: Subject, checks: Iterable[Check], run: _Verification, *, mending: bool = False
) -> list[CheckResult]:
    run.current.add(subject)
    try:
        with subject:
            return [run_check(subject, check, mending=mending) for check in checks]
    finally:
        run.current.discard(subject)


def _mended(subject: Subject, run: _Verification, results: list[CheckResult]) -> Mend | None:
    """What can be mended of these findings; all checks of the phases of this run say whether anything is worse."""
    if not any(finding.fix for result in results for finding in result.findings):
        return None
    from bridge.verify.mends.trial import offered

    checks = run.checks(subject.kind)
    every = chosen((), (), subject.kind, static_only=all(check.phase == "static" for check in checks))

    def again(path: Path) -> list[CheckResult]:
        copy = run.subject(path)
        return _results(copy, [check for check in every if copy.kind in check.applies], run)

    findings = [finding for result in results for finding in result.findings]
    known = results if checks == every else None
    return offered(subject.path, subject.source, findings, again, known)


def _coverage(path: Path, run: _Verification) -> Coverage:
    """What the observations of these checks reach, made once more with an eye on every command."""
    from bridge.verify.coverage import coverage_of, noted

    with tempfile.TemporaryDirectory(prefix="rb-coverage-") as folder:
        file = Path(folder, "ran")
        subject = run.subject(path, trace=file)
        _results(subject, [check for check in run.checks(subject.kind) if check.phase == "behaviour"], run)
        return coverage_of(subject.reading, noted(file))


def _with_fixes(result: CheckResult, mend: Mend | None) -> CheckResult:
    kept = {finding.fix for finding in mend.fixed} if mend is not None else set()
    findings = (each if each.fix in kept else each._replace(fix=None) for each in result.findings)
    return result._replace(findings=tuple(findings))


def _written(finished: ScriptFinished, mend: Mend, run: _Verification, began: float) -> ScriptFinished:
    from bridge.verify.mends.trial import write

    mend = write(finished.path, mend)
    if not mend.written:
        return finished._replace(mend=mend)
    return _checked(run.subject(finished.path), replace(run, mending="no"), began)._replace(mend=mend)


def _checked(subject: Subject, run: _Verification, began: float) -> ScriptFinished:
    results: list[CheckResult] = []
    mend: Mend | None = None
    if subject.kind == "out-of-scope":
        if (refused := not_admitted(subject, (given.path for given in run.scripts))) is not None:
            results = [refused]
    else:
        checks = run.checks(subject.kind)
        results = _results(subject, checks, run, mending=run.mending != "no")
        mend = _mended(subject, run, results)
        results = list(folded([_with_fixes(result, mend) for result in results]))
        # Nobody may miss that nothing else can be determined.
        gates = (check for check in load(subject.kind).values() if check.gate and check not in checks)
        results[:0] = [
            result for gate in gates if (result := run_check(subject, gate)).outcome is not CheckOutcome.PASSED
        ]
    finished = ScriptFinished(
        subject.path,
        subject.kind,
        tuple(results),
        subject.matrix if subject.kind != "out-of-scope" else {},
        subject.name,
        time.monotonic() - began,
        subject.reason,
        mend,
    )
    lost = all(result.outcome is CheckOutcome.UNKNOWN and not result.findings for result in results)
    return nothing_verified(finished) if results and lost else finished


def run_check(subject: Subject, check: Check, *, mending: bool = False) -> CheckResult:
    """One check on one script, with the mends of what it finds; nothing that goes wrong in it is raised."""
    began = time.monotonic()
    findings: list[Finding] = []
    outcome, reason = CheckOutcome.PASSED, ""
    try:
        _precondition(subject, check)
        subject.unseen.clear()
        findings.extend(map(partial(_with_fix, subject), check.run(subject)) if mending else check.run(subject))
        if subject.unseen and not findings:  # what a hook does that fails can't be judged by what it has not done
            raise CannotTell(subject.unseen[0])
    except CannotTell as why:
        outcome, reason = CheckOutcome.UNKNOWN, str(why)
    except NotApplicable as why:
        outcome, reason = CheckOutcome.SKIPPED, str(why)
    except HookTimeout as error:
        hook = error.hook if error.hook in subject.facts.names else None
        findings.append(replace(check, hook=None).finding(subject, Problem(error.what, hook=hook)))
    except BridgeError as error:  # such as a script that can't be loaded: other checks say what is wrong with it
        outcome, reason = CheckOutcome.UNKNOWN, str(error)
    except Exception as error:  # noqa: BLE001 - a check of ours, or what it runs on, is broken: the others go on
        outcome, reason = CheckOutcome.UNKNOWN, f"{type(error).__name__}: {error}"
    if findings:
        outcome = CheckOutcome.FAILED
    return CheckResult(check.code, check.title, outcome, tuple(findings), reason, time.monotonic() - began)


def _with_fix(subject: Subject, finding: Finding) -> Finding:
    from bridge.verify.mends import fix_of

    return finding._replace(fix=fix_of(subject, finding))


def _precondition(subject: Subject, check: Check) -> None:
    if not check.gate and subject.syntax is not None:
        raise CannotTell(f"not valid bash: line {subject.syntax[0][0]}: {subject.syntax[0][1]}")
    if check.phase == "static":
        return
    if subject.refused:
        raise CannotTell(subject.refused)
    subject.budget.start()
    if not check.after_timeout and not subject.budget.remaining:
        raise CannotTell(subject.budget.used_up)
