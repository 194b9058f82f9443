"""Runs checks on scripts and tells what happens as one stream of events.

The order of the events is that of the scripts, whatever `jobs` is. Nothing that a script does ends the run: what
goes wrong in a check of ours makes that check unknown, and the next script has its events.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from bridge.shell import Shell
from bridge.verify.budget import strain
from bridge.verify.findings import (
    CheckOutcome,
    CheckResult,
    RunFinished,
    RunStarted,
    ScriptFinished,
    ScriptStarted,
    Severity,
)
from bridge.verify.intake import given_in, nothing_verified
from bridge.verify.judging import Judging
from bridge.verify.recordings import recording_beside
from bridge.verify.registry import chosen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from bridge.verify.findings import Event
    from bridge.verify.intake import GivenScript
    from bridge.verify.judging import Mending
    from bridge.verify.registry import Check

DEFAULT_TIMEOUT = 30.0
"""Seconds that running one script may take, all its checks together; more on a machine that is busy."""

LONGEST = 120.0
"""The same for a script whose calls come back, and take long."""


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
    skip_helpers: bool = False,
) -> Iterator[Event]:
    """Verify scripts, and the scripts in folders.

    Args:
        select: codes or beginnings of codes (``RB01``); only these checks. Empty: all.
        ignore: the same; not these.
        jobs: scripts that are verified at the same time. Default: one for each CPU of this process, at most 4.
        static_only: execute nothing of the scripts.
        bash: default as for `bridge.shell.Shell`.
        timeout: seconds that running one script may take. Default: `DEFAULT_TIMEOUT`, and up to `LONGEST` for one
            whose calls come back.
        mending: look for mends of what is found; with ``write``, apply them and verify again.
        coverage: tell what of the scripts was reached: they are run a second time for it.
        skip_helpers: files are only candidates, as those of a folder: what is neither driver nor agent is passed
            over, and a run of nothing else is no failure.

    Raises:
        ConfigurationError: an unknown code, a path that isn't there (ScriptNotFound), no path at all, a recording
            beside a script that is none.
        ShellStartFailed: there is no bash, or it doesn't run: that is no fault of any script.
    """
    if select or ignore:
        chosen(select, ignore)  # an unknown code is known before anything runs
    scripts = given_in(paths, meant=not skip_helpers)
    for given in scripts:
        recording_beside(given.path)
    with Shell(bash=bash) as shell:
        shell.call(":")
    busy = strain()
    run = Judging(
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
    return _events(run, jobs or _cpus(), may_be_nothing=skip_helpers)


def _cpus() -> int:
    mine = getattr(os, "sched_getaffinity", None)  # not on macOS
    return min(4, len(mine(0)) if mine else os.cpu_count() or 1)


def _events(run: Judging, jobs: int, *, may_be_nothing: bool = False) -> Iterator[Event]:
    began = time.monotonic()
    severities: Counter[Severity] = Counter()
    unknown = refused = 0
    verified = False
    yield RunStarted(tuple(given.path for given in run.scripts))
    # One job works in this thread's place, not beside it: threads of their own also let an interrupt in.
    executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="verify")
    try:
        pending: list[tuple[Future[ScriptStarted], Future[ScriptFinished]]] = []
        for given in run.scripts:
            started: Future[ScriptStarted] = Future()
            pending.append((started, executor.submit(_judged, started, given, run)))
        pending.reverse()
        while pending:  # what was reported need not be kept
            began_script, ended = pending.pop()
            yield began_script.result()
            finished = ended.result()
            verified = verified or any(result.outcome is not CheckOutcome.UNKNOWN for result in finished.results)
            if not (verified or pending or may_be_nothing):
                finished = nothing_verified(finished)
            severities.update(finding.severity for finding in finished.findings)
            unknown += sum(result.unjudged for result in finished.results)
            refused += finished.mend is not None and bool(finished.mend.refused)
            yield finished
    except BaseException:  # an interrupt, or nobody wants the rest: what has begun must not take its whole time
        for subject in tuple(run.current):
            subject.budget.stop()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        if (scratch := sys.modules.get("bridge.verify.probe.scratch")) is not None:  # else nothing was run
            scratch.end_leftovers()
    yield RunFinished(
        scripts=len(run.scripts),
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        infos=severities[Severity.INFO],
        seconds=time.monotonic() - began,
        unknown=unknown,
        refused=refused,
    )


def _judged(started: Future[ScriptStarted], given: GivenScript, run: Judging) -> ScriptFinished:
    """One script: its first event is set as soon as it is known, its last one is returned."""
    began = time.monotonic()
    try:
        subject = run.subject(given.path, named=given.named)
    except BaseException as error:
        if not isinstance(error, Exception):  # or whoever waits for the event would wait for ever
            started.set_exception(error)
            raise
        # A bug of ours: it costs this script and no other.
        started.set_result(ScriptStarted(given.path, "out-of-scope"))
        return nothing_verified(_all_unknown(given.path, run.checks(""), began, error))
    started.set_result(ScriptStarted(given.path, subject.kind))
    return run.finished(subject, began)


def _all_unknown(path: Path, checks: Iterable[Check], began: float, error: Exception) -> ScriptFinished:
    reason = f"{type(error).__name__}: {error}"
    unknown = CheckOutcome.UNKNOWN
    return ScriptFinished(
        path=path,
        kind="out-of-scope",
        results=tuple(CheckResult(check.code, check.title, unknown, reason=reason) for check in checks),
        matrix={},
        name=path.stem,
        seconds=time.monotonic() - began,
        reason=reason,
    )
