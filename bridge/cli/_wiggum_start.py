"""``wiggum start``: options to a request, a tool, and the loop's events to lines."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._terminal import AT_OPEN_BREAKER, Style, duration, print_json, say
from bridge.loop.turn_records import NO_TURNS
from bridge.resources import as_given, os_text

if TYPE_CHECKING:
    from bridge.git.work import Probe
    from bridge.loop.turn_records import Totals
    from bridge.setups.wiggum.files import Layout
    from bridge.setups.wiggum.outer import Ended, OuterEvent, Paused, TurnEnded
    from bridge.setups.wiggum.start import Prepared, Request
    from bridge.setups.wiggum.state import State
    from bridge.setups.wiggum.tools import AgentTool, DriverTool


_OUTER_ONLY = ("driver", "agent", "timeout", "retry_delay")


def run_start(layout: Layout, given: dict[str, Any]) -> int:
    """Do what ``wiggum start`` is asked for; return its exit code."""
    from bridge.git.work import Probe
    from bridge.loop.lock import one_loop
    from bridge.setups.projects import other_folders
    from bridge.setups.unserved import refuse
    from bridge.setups.wiggum.controls import overview
    from bridge.setups.wiggum.files import FILES, usable
    from bridge.setups.wiggum.start import prepare

    _check(given)
    request = _request(given)
    if request.mode == "outer":
        refuse(layout.project, os.environ, given=given["settings"], driver=given["driver"] or given["agent"])
    probe = Probe(layout.project, FILES)
    with usable():
        layout.folder.mkdir(parents=True, exist_ok=True)
    if request.mode == "hook":
        with one_loop(layout.folder, layout.project, others=other_folders(layout.folder, layout.project)):
            prepared = prepare(layout, probe, request, datetime.now(UTC))
            state, status = prepared.state, 0
            _ready(layout, prepared, quiet=given["as_json"])
    else:
        state = _outer(layout, probe, request, given)
        status = 1 if state.exit_code is None else state.exit_code
    if given["as_json"]:
        print_json(overview(layout) | {"exit_code": state.exit_code})
    return status


def _check(given: dict[str, Any]) -> None:
    if given["driver"] and given["agent"]:
        raise click.UsageError("--driver and --agent exclude each other")
    if given["resume"] and given["fresh"]:
        raise click.UsageError("--resume and --fresh exclude each other")
    if given["mode"] == "hook" and (wrong := next((name for name in _OUTER_ONLY if given[name]), None)):
        raise click.UsageError(
            f"--{wrong.replace('_', '-')} applies to --mode outer only: the session runs the agent"
        )


def _request(given: dict[str, Any]) -> Request:
    from bridge.setups.wiggum.breaker import BreakerSettings
    from bridge.setups.wiggum.opening import environment_defaults
    from bridge.setups.wiggum.start import Request
    from bridge.setups.wiggum.state import Checkpointing

    limits = {
        "no_change": given["no_change"],
        "same_error": given["same_error"],
        "on_output_decline": given["output_decline"],
        "on_stuck": given["stuck"],
        "cooldown_minutes": given["cooldown"],
    }
    limits = {name: value for name, value in limits.items() if value is not None}
    asked = given["checkpoints"] is not None or given["allow_empty"] or given["no_verify"]
    description = given["description"]
    most, promise = given["max_iterations"], given["completion_promise"]
    tool = next((f"{kind} {as_given(given[kind])}" for kind in ("driver", "agent") if given[kind]), None)
    return Request(
        description=None if description is None else os_text(description),
        mode=given["mode"],
        promise=None if promise is None else os_text(promise),
        max_iterations=most,
        environment=environment_defaults(most, promise),
        max_minutes=given["max_minutes"],
        breaker=BreakerSettings(**limits) if limits else None,
        checkpoints=Checkpointing(
            enabled=given["checkpoints"] is not False,
            no_verify=given["no_verify"],
            allow_empty=given["allow_empty"],
        )
        if asked
        else None,
        tool=tool,
        session_id=os.environ.get("CLAUDE_CODE_SESSION_ID") or None,
        resume=given["resume"],
        fresh=given["fresh"],
        force=given["force"],
    )


def _ready(layout: Layout, prepared: Prepared, *, quiet: bool) -> None:
    state = prepared.state
    for notice in prepared.notices:
        say(f"note: {notice}")
    if quiet:
        return
    if state.outcome is not None:
        say(f"complete: {state.reason}")
        return
    most = f"at most {state.max_iterations} iterations" if state.max_iterations else "any number of iterations"
    owner = f"session {state.session_id}" if state.session_id else "the session that stops first here"
    say(f"ready: {layout.state}")
    say(f"{most}, promise {state.completion_promise!r}, for {owner}")
    say("the loop goes on at each stop, where the hook is installed (ralph-bridge wiggum install-hook)")


def _outer(layout: Layout, probe: Probe, request: Request, given: dict[str, Any]) -> State:
    from bridge.setups.wiggum.controls import close_interrupted
    from bridge.setups.wiggum.files import is_cancelled
    from bridge.setups.wiggum.opening import ToolOptions, open_outer
    from bridge.setups.wiggum.outer import RETRY_DELAY, Ended
    from bridge.setups.wiggum.tools import TURN_MINUTES

    began = time.monotonic()
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    wanted = ToolOptions(
        live=given["live"],
        timeout=(given["timeout"] or TURN_MINUTES) * 60,
        retry_delay=RETRY_DELAY if given["retry_delay"] is None else given["retry_delay"],
        settings=given["settings"],
    )
    with open_outer(layout, request, wanted, lambda line: say(f"note: {line}"), probe=probe) as opened:
        state = opened.state
        if not given["quiet"]:
            say(_first_line(layout, state, opened.tool))
        view = _View(state, quiet=given["quiet"], as_json=given["as_json"])
        with closing(opened.outer_events()) as events:
            try:
                for event in events:
                    view.show(event)
                    if isinstance(event, Ended):
                        state = event.state
            except (KeyboardInterrupt, SystemExit) as signal:
                events.close()  # the agent ends before its work is looked at
                if isinstance(signal, KeyboardInterrupt) or not is_cancelled(layout):
                    view.interrupted(time.monotonic() - began, signal)
                    raise
                state = close_interrupted(layout, probe, datetime.now(UTC))
                opened.active.over("cancelled")
                view.show(Ended(state, time.monotonic() - began, view.totals))
    return state


def _first_line(layout: Layout, state: State, tool: DriverTool | AgentTool) -> str:
    from bridge.cli._summary import agent_tool, driver_tool, first_line
    from bridge.driver import Driver
    from bridge.setups.wiggum.tools import AgentTool

    if isinstance(tool, AgentTool):
        named = agent_tool(tool.agent.cli, tool.agent.script)
    else:
        driver = tool.driver
        assert isinstance(driver, Driver)
        named = driver_tool(driver.display_name(), driver.script)
    return first_line(
        named,
        layout.prompt.relative_to(layout.project),
        iterations=state.max_iterations or None,
        seconds=None if state.max_minutes is None else state.max_minutes * 60,
        turn_seconds=tool.timeout,
    )


class _View:
    """Prints the events of one loop: the agent's text on stdout, a line per step on stderr."""

    def __init__(self, state: State, *, quiet: bool, as_json: bool) -> None:
        from bridge.cli._render import Renderer

        self._quiet = quiet
        self._as_json = as_json
        self._style = Style(sys.stderr)
        self._state = state
        self.totals = NO_TURNS
        """What the turns so far came to."""
        self._renderer = Renderer(max_iterations=state.max_iterations or None, quiet=quiet)

    def show(self, event: OuterEvent) -> None:
        """Print one event."""
        from bridge.loop.events import IterationStarted, OutputText
        from bridge.setups.wiggum.outer import Ended, Paused, TurnEnded, TurnStarted

        if isinstance(event, OutputText):
            if not self._as_json:
                self._renderer.show(event)
            return
        if isinstance(event, TurnStarted | TurnEnded | Ended):
            self._renderer.finish_line()
        if isinstance(event, TurnStarted):
            self._started(event.state)
        elif isinstance(event, TurnEnded):
            self._turn_ended(event)
        elif isinstance(event, Ended):
            self._ended(event)
        elif isinstance(event, Paused):
            self._paused(event)
        elif not isinstance(event, IterationStarted):
            self._renderer.show(event)

    def _started(self, state: State) -> None:
        if not self._quiet:
            left = f" · {state.remaining_items} of {state.total_items} items left" if state.total_items else ""
            say(f"{self._where(state, 1)} started{left}")

    def _turn_ended(self, event: TurnEnded) -> None:
        state, style = event.state, self._style
        self._state, self.totals = state, event.totals
        where = self._where(state, 0)
        for warning in event.decision.warnings:
            say(f"{where} {style('warning:', 'yellow')} {warning}")
        if self._quiet:
            return
        took = duration(event.seconds)
        if failure := event.decision.failure:
            say(f"{where} {style('failed', 'red')} after {took} · {failure}")
            return
        done = state.total_items - state.remaining_items
        items = f" · {done} of {state.total_items} items done" if state.total_items else ""
        action = f" · {state.last_action}" if state.last_action else ""
        say(f"{where} {style('done', 'green')} in {took}{items}{action}")

    def _paused(self, event: Paused) -> None:
        if not self._quiet:
            times = f"{event.failures} turns in a row failed" if event.failures > 1 else "the turn failed"
            say(f"{self._where(event.state, 0)} waiting {duration(event.seconds)}: {times}")

    def _ended(self, event: Ended) -> None:
        state = event.state
        complete = state.exit_code == 0
        if not complete or not self._quiet:
            self._last(
                state, event.seconds, event.totals, state.reason or "", state.outcome or "", complete=complete
            )
        if state.breaker.is_open and not self._quiet:
            say(AT_OPEN_BREAKER)

    def interrupted(self, seconds: float, error: BaseException) -> None:
        """Print the last line of a loop that a signal has ended."""
        from bridge.loop.events import interruption

        self._renderer.finish_line()
        if not self._quiet:
            self._last(self._state, seconds, self.totals, "interrupted", interruption(error)[1], complete=False)

    def _last(
        self, state: State, seconds: float, totals: Totals, detail: str, reason: str, *, complete: bool
    ) -> None:
        from bridge.cli._summary import last_line

        say(
            last_line(
                self._style,
                complete=complete,
                iterations=state.iteration,
                seconds=seconds,
                totals=totals,
                detail=detail,
                reason=reason,
            )
        )

    def _where(self, state: State, ahead: int) -> str:
        most = f"/{state.max_iterations}" if state.max_iterations else ""
        return self._style(f"[{state.iteration + ahead}{most}]", "cyan", "bold")
