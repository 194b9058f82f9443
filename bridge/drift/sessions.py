"""Does a driver find the session's id, and does that lead back to the session?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.drift.commands import SESSION
from bridge.drift.judging import session_of_a_bash_host
from bridge.drift.model import Finding, Status
from bridge.loop.outcome import is_dead_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.drift.bench import Trial
    from bridge.drift.runs import Run

__all__ = ["sessions"]

NEXT = "The second loop of a trial: another context."


def sessions(trial: Trial, done: Run) -> Iterator[Finding]:
    """Is the id found, in a project that knows another session; and does it lead back to that session?"""
    truth = done.answer.session_id
    own = trial.driver.recover_session_id(done.output)
    if truth is not None and own == truth:
        yield from _own_step(trial, done, truth)
    else:
        detail = f"it finds {own or 'nothing'}, and the CLI prints {f'{truth}' if truth else 'none that is known'}"
        hint = "let it read the id, or let driver_supports_sessions return 1: every run begins anew as it is"
        yield Finding("session id", Status.FAILED, detail, hint, "D5")
        if own is None:
            return
    resumed = trial.run(session=own or "", context=NEXT)
    if not resumed.accepted:
        yield Finding("resume", Status.FAILED, resumed.complaint(), "look at how it passes the session's id")
        return
    if resumed.said[0].count("In the second line, too.") < 2:
        detail = "the CLI began a new session: nothing of the first is known"
        yield Finding("resume", Status.FAILED, detail, "look at how it passes the session's id")
    else:
        yield Finding("resume", Status.PASSED, "the CLI goes on where it was")
    if trial.heard and NEXT not in resumed.heard():
        detail = (
            "when a session is resumed, the model gets the loop context of its first run instead of the new one"
        )
        hint = (
            "put the context into the prompt where a session is resumed, or on stdin (see the contract); or, from "
            "claude 2.1.330 on, pass --system-prompt-snapshot off"
        )
        yield Finding("context", Status.WARNING, detail, hint, "D20")
    yield from _unknown(trial)


def _own_step(trial: Trial, done: Run, truth: str) -> Iterator[Finding]:
    """Ours reads every CLI's id; a bash host knows the script's own steps and three fields only."""
    mine = session_of_a_bash_host(trial.driver, done)
    if mine == truth:
        yield Finding("session id", Status.PASSED, "found, though the project has more than one")
        return
    detail = (
        f"in a project with two sessions the script's own steps find {mine or 'nothing'}; it is {truth}, which "
        "ralph-bridge finds by itself"
    )
    field = done.field_of(truth)
    hint = (
        f"it stands in .{field} of the events" if field else "driver_extract_session_id_from_output has to know it"
    )
    yield Finding("session id", Status.FAILED, detail, hint, "D5")


def _unknown(trial: Trial) -> Iterator[Finding]:
    done = trial.run(session=SESSION)
    said = f"{done.stderr}\n{b''.join(done.lines).decode('utf-8', 'replace')}"
    if done.status != 0 and is_dead_session(said):
        yield Finding("unknown session", Status.PASSED, "refused, in words that are understood", drift="D17")
    elif done.status != 0:
        yield Finding(
            "unknown session", Status.WARNING, f"refused, in unknown words: {done.complaint()}", "", "D17"
        )
    else:
        yield Finding("unknown session", Status.LIMIT, "the CLI begins a new session instead", "", "D17")
