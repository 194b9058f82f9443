"""``wiggum start``: options to a request, a tool, and the loop's events to lines."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from bridge.base.wording import duration
from bridge.cli._options import taken_notify
from bridge.cli._render import AT_OPEN_BREAKER, Renderer, drive, work_of
from bridge.cli._terminal import print_json, say
from bridge.loop.engine.caps import VARIABLES
from bridge.loop.engine.events import IterationEnded, IterationStarted, LoopEnded, Notice, OutputText, Waiting
from bridge.loop.engine.observers import OPTIONS as TELEMETRY
from bridge.loop.setups.box_options import OPTIONS as SANDBOX
from bridge.loop.setups.further_tools import OPTIONS as CREW
from bridge.loop.setups.gate_options import OPTIONS as GATES
from bridge.loop.setups.options import RunOptions
from bridge.loop.setups.wiggum.outer import OuterState

if TYPE_CHECKING:
    from bridge.cli._render import Opening
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.setups.wiggum.files import Layout
    from bridge.loop.setups.wiggum.state import WiggumState
    from bridge.loop.setups.wiggum.task import StartRequest

_RUN_OPTIONS = (
    *("driver", "agent", "live", "timeout", "exit_grace", "max_silence", "retry_delay"),
    *("max_iterations", "max_minutes", "promise", "settings"),
    *(*VARIABLES, *CREW, *GATES, *SANDBOX, *TELEMETRY),
)
_OUTER_ONLY = (
    "driver",
    "agent",
    "timeout",
    "exit_grace",
    "max_silence",
    "retry_delay",
    "max_cost",
    "max_tokens",
    "tokens_per_hour",
    "notify",
    *CREW,
    *GATES,
    *SANDBOX,
    *TELEMETRY,
)


def run_start(layout: Layout, given: dict[str, Any]) -> int:
    """Do what ``wiggum start`` is asked for; return its exit code."""
    from bridge.loop.engine.notify import notifying
    from bridge.loop.setups.unserved import refuse
    from bridge.loop.setups.wiggum.controls import overview

    _check(given)
    asked = RunOptions.of({"task": given["description"]} | {name: given[name] for name in _RUN_OPTIONS})
    request = _request(asked, given)
    if request.mode == "outer":
        refuse(layout.project, os.environ, given=asked.settings, driver=asked.driver or asked.agent)
        with notifying(taken_notify(given)):
            status = _outer(layout, request, asked, given)
    else:
        status = _session(layout, request, given)
    if given["as_json"]:
        print_json(overview(layout))
    return status


def _check(given: dict[str, Any]) -> None:
    for one, other in (("driver", "agent"), ("resume", "fresh")):
        if given[one] and given[other]:
            raise click.UsageError(f"--{one} and --{other} exclude each other")
    if given["mode"] == "hook" and (wrong := next((name for name in _OUTER_ONLY if given[name]), None)):
        raise click.UsageError(
            f"--{wrong.replace('_', '-')} applies to --mode outer only: the session runs the agent"
        )


def _request(asked: RunOptions, given: dict[str, Any]) -> StartRequest:
    from bridge.loop.setups.wiggum.breaker import WiggumBreakerSettings
    from bridge.loop.setups.wiggum.opening import start_request
    from bridge.loop.setups.wiggum.state import Checkpointing

    limits: dict[str, Any] = {each.name: given.get(each.name) for each in fields(WiggumBreakerSettings)}
    limits = {name: limit for name, limit in limits.items() if limit is not None}
    checkpoints = None
    if given["checkpoints"] is not None or given["allow_empty"] or given["no_verify"]:
        enabled = given["checkpoints"] is not False
        checkpoints = Checkpointing(enabled, given["no_verify"], given["allow_empty"])
    return start_request(
        asked,
        breaker_settings=WiggumBreakerSettings(**limits) if limits else None,
        checkpoints=checkpoints,
        session_id=os.environ.get("CLAUDE_CODE_SESSION_ID") or None,
        **{name: given[name] for name in ("mode", "resume", "fresh", "force")},
    )


def _session(layout: Layout, request: StartRequest, given: dict[str, Any]) -> int:
    from bridge.base.files import make_folder, usable
    from bridge.base.git.work import WorkDetector
    from bridge.loop.setups.projects import project_lock
    from bridge.loop.setups.wiggum.files import FILES
    from bridge.loop.setups.wiggum.start import check, prepare

    probe = WorkDetector(layout.project, FILES)
    check(layout, probe, request, datetime.now(UTC))
    with usable(layout.folder):
        make_folder(layout.folder)
    with project_lock(layout.folder, layout.project):
        prepared = prepare(layout, probe, request, datetime.now(UTC))
    state = prepared.state
    for notice in prepared.notices:
        say(f"note: {notice}")
    if given["as_json"]:
        return 0
    if state.outcome is not None:
        say(f"complete: {state.reason}")
        return 0
    most = f"at most {state.max_iterations} iterations" if state.max_iterations else "any number of iterations"
    owner = f"session {state.session_id}" if state.session_id else "the session that stops first here"
    say(f"ready: {layout.state}")
    say(f"{most}, promise {state.completion_promise!r}, for {owner}")
    say("the loop goes on at each stop, where the hook is installed (ralph-bridge wiggum install-hook)")
    return 0


def _outer(layout: Layout, request: StartRequest, asked: RunOptions, given: dict[str, Any]) -> int:
    from bridge.cli._render import first_lines
    from bridge.loop.setups.wiggum.opening import open_outer

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    with open_outer(layout, request, asked, lambda line: say(f"note: {line}")) as opened:
        opening = None if given["quiet"] else first_lines(opened.script, opened.settings)
        most = opened.settings.limits.max_iterations
        renderer = _WiggumRenderer(
            max_iterations=most, quiet=given["quiet"], text=not given["as_json"], opening=opening
        )
        status = drive(opened.events(), renderer.show, renderer.interrupted).status
    return 1 if status is None else status


class _WiggumRenderer(Renderer):
    """Prints the events of one loop; `text`: what the agent says, too."""

    def __init__(
        self, *, max_iterations: int | None, quiet: bool, text: bool, opening: Opening | None = None
    ) -> None:
        super().__init__(max_iterations=max_iterations, quiet=quiet, opening=opening)
        self._text = text
        self._current = 0

    def show(self, event: LoopEvent) -> None:
        if isinstance(event, OutputText) and not self._text:
            return
        super().show(event)
        if isinstance(event, Notice) and self._quiet:
            self._step(event)
        if isinstance(event, LoopEnded) and not self._quiet and _saved(event).breaker.is_open:
            say(AT_OPEN_BREAKER)

    def _step(self, event: LoopEvent) -> None:
        where = self._where(self._current)
        match event:
            case IterationStarted():
                self._current = event.iteration
                saved = _saved(event)
                left = f" · {saved.remaining_items} of {saved.total_items} items left" if saved.total_items else ""
                say(f"{self._where(event.iteration)} started{left}")
            case IterationEnded():
                if event.decision.reason != "api_limit":
                    self._turn_ended(event)
            case Waiting(reason="retry"):
                if event.first:
                    say(f"{where} waiting {duration(event.left)}: {event.detail}")
            case Notice():
                say(f"{where} {self._style('warning:', 'yellow')} {event.text}")
            case _:
                super()._step(event)

    def _turn_ended(self, event: IterationEnded) -> None:
        style, where, took = self._style, self._where(event.iteration), duration(event.seconds)
        if failure := event.outcome.failure:
            say(f"{where} {style('failed', 'red')} after {took}{work_of(event)} · {failure}")
            return
        saved = _saved(event)
        done = saved.total_items - saved.remaining_items
        items = f" · {done} of {saved.total_items} items done" if saved.total_items else ""
        action = f" · {saved.last_action}" if saved.last_action else ""
        say(f"{where} {style('done', 'green')} in {took}{work_of(event)}{items}{action}")


def _saved(event: IterationStarted | IterationEnded | LoopEnded) -> WiggumState:
    assert isinstance(event.state, OuterState)
    return event.state.saved
