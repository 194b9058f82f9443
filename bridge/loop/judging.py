"""From a run's end to its :class:`~bridge.loop.outcome.Outcome`: analysis, plan, gates, session."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.loop.outcome import Outcome, failure_of, is_dead_session
from bridge.loop.tracking import track

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from bridge.git.repository import Changes
    from bridge.loop.decide import State
    from bridge.loop.gates import GateResults
    from bridge.loop.options import LoopSettings
    from bridge.loop.plan import Plan
    from bridge.loop.ports import RunLogs
    from bridge.loop.turn import Run
    from bridge.stream.analysis import Analysis

__all__ = ["answer_of", "build_outcome", "checked", "interruption", "one_line"]


def build_outcome(
    run: Run,
    state: State,
    settings: LoopSettings,
    *,
    iteration: int,
    logs: RunLogs,
    changes: Changes | None,
    plans: tuple[Plan | None, Plan | None],
    now: datetime,
) -> Outcome:
    """Say what a run came to, as far as its output, git and the plan tell.

    Args:
        run: how it ended.
        state: where the loop stood when it began.
        settings: the loop's.
        iteration: its number.
        logs: its logs.
        changes: what git saw, or None.
        plans: the fix plan before and after it.
        now: the time.
    """
    from bridge.stream.analysis import RunFacts

    facts = RunFacts(
        now=now,
        loop_number=iteration,
        output_file=str(logs.output),
        files_changed=changes.count if changes else 0,
        exit_status=run.status,
        timed_out=run.timed_out or run.idle,
        last_output_length=state.output_length,
        stderr=run.stderr,
    )
    analysis = run.analyzer.finish(facts)
    said = _said(analysis)
    outcome = Outcome(
        status=run.status,
        timed_out=run.timed_out,
        idle=run.idle,
        completed=analysis.completed_turn,
        said=said,
        is_error=analysis.is_error,
        error=one_line(
            analysis.error or (_last_line(run.stderr) if run.status or analysis.is_error or not said else "")
        ),
        exit_signal=analysis.explicit_exit,
        promised=_promised(settings.promise, analysis),
        plan=plans[1],
        resumed=state.session_id is not None,
        limit=analysis.limit,
        analysis=analysis,
        reported=analysis,
        changes=changes,
        denied=analysis.has_permission_denials,
        ticked=_ticked(plans),
    )
    if outcome.resumed and failure_of(outcome):
        words = run.stderr.decode("utf-8", "replace"), analysis.error, analysis.text if run.status else ""
        outcome = replace(outcome, dead_session=is_dead_session(*words))
    if settings.track and failure_of(outcome) is None:
        before = plans[0].done if plans[0] else 0
        after = plans[1].done if plans[1] else before
        found = track(analysis.tasks_completed_this_loop, before, after)
        outcome = replace(outcome, analysis=analysis.tracked(found.delta, mismatch=found.mismatch))
    return outcome


def checked(outcome: Outcome, check: Callable[[Analysis], GateResults | None]) -> Outcome:
    """Run the gates after a run that ended well, and let them have their say."""
    from bridge.loop.gates import outcome_of

    if failure_of(outcome) is not None or outcome.analysis is None:
        return outcome
    results = check(outcome.analysis)
    gate, _ = outcome_of(results)
    analysis = outcome.analysis.not_complete() if gate == "block" else outcome.analysis
    signal = False if gate == "block" else outcome.exit_signal
    promised = outcome.promised and gate != "block"
    return replace(outcome, gates=results, gate=gate, analysis=analysis, exit_signal=signal, promised=promised)


def answer_of(outcome: Outcome) -> str:
    """Return the assistant's words, for a run that showed none while it lasted."""
    words = (outcome.analysis.text or outcome.analysis.last_text) if outcome.analysis else ""
    return words if not words or words.endswith("\n") else words + "\n"


def _said(analysis: Analysis) -> bool:
    """Whether there are words of the assistant; a JSON document that no reader knows counts as some."""
    unknown = analysis.family == "json" and analysis.completed_turn is None
    return unknown or bool(analysis.text.strip() or analysis.last_text.strip())


def _promised(promise: str | None, analysis: Analysis) -> bool:
    from bridge.stream.status import find_promise

    return promise is not None and find_promise(analysis.text, promise)


def _ticked(plans: tuple[Plan | None, Plan | None]) -> int:
    before, after = plans
    return after.done - before.done if before and after else 0


def _last_line(stderr: bytes) -> str:
    """The end of stderr is where programs say why they gave up."""
    lines = stderr[-4096:].decode("utf-8", "replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")


def one_line(text: str) -> str | None:
    """Make a text fit for one line of at most 300 characters; None when nothing is left."""
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return (shown[:297] + "..." if len(shown) > 300 else shown) or None


def interruption(error: BaseException) -> tuple[str, str]:
    """Name the action and the exit reason for a loop that ends in the middle."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "SIGINT"
    if isinstance(error, SystemExit):  # what the command line makes of TERM and HUP
        return "interrupted", {143: "SIGTERM", 129: "SIGHUP"}.get(error.code, "exit")  # type: ignore[arg-type]
    if isinstance(error, GeneratorExit):
        return "interrupted", "closed"
    return "unexpected_exit", type(error).__name__
