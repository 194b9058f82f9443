"""A loop on a terminal, in a file or in a CI log: text on stdout, one line per step on stderr.

The first and the last line have the same facts in the same order, whatever the setup.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.base.resources import shown_script
from bridge.base.wording import changed, duration, one_line, plural, usd
from bridge.cli._flow import Page, flows
from bridge.cli._terminal import Pieces, Style, drop, say, write, write_text
from bridge.loop.engine.events import (
    CheckEnded,
    CheckStarted,
    DenialHelp,
    IterationEnded,
    IterationStarted,
    LoopEnded,
    Notice,
    OutputText,
    ReviewEnded,
    ReviewStarted,
    ReviewTurnEnded,
    ReviewTurnStarted,
    RunProgress,
    Waiting,
    interruption,
)
from bridge.loop.engine.policy import Verdict
from bridge.loop.engine.turn_records import NO_TURNS, Totals
from bridge.loop.sandbox.permissions import commits_refused, unrestricted
from bridge.shell.consent import is_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from bridge.errors import ProjectCodeNotRun
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.setup_kind import Opened
    from bridge.scripts.agent import Agent
    from bridge.scripts.driver import Driver

    Opening = Callable[[Sequence[str]], Sequence[str]]

AT_OPEN_BREAKER = "next: look at the last output, then `ralph-bridge reset`, or wait for the cooldown"
"""What can be done when a circuit breaker has ended a loop."""
_A_DAY = 86_400


def drive(
    events: Generator[LoopEvent, None, None],
    show: Callable[[LoopEvent], None],
    interrupted: Callable[[BaseException], None],
) -> LoopEnded:
    """Show what a loop tells until it is over; return its last event.

    A signal is the loop's to handle, wherever it comes: it ends the tool and writes down why. So is a reader of our
    output who leaves. Where output can't be written for another reason (the terminal is gone, the disk is full),
    the work goes on without.

    Args:
        interrupted: prints the last line of a loop that a signal has ended.

    Raises:
        KeyboardInterrupt, SystemExit: such a signal has ended it.
    """
    came: BaseException | None = None
    with closing(events):
        while True:
            try:
                event = next(events) if came is None else events.throw(came)
                came = None
                show(event)
                if isinstance(event, LoopEnded):
                    return event
            except (KeyboardInterrupt, SystemExit) as error:
                if _has_ended(events):  # and has raised this itself
                    interrupted(error)
                    raise
                came = error
            except OSError as error:
                if _has_ended(events):
                    raise
                drop(sys.stdout)
                if isinstance(error, BrokenPipeError):
                    came = SystemExit(128 + signal.SIGPIPE)


def _has_ended(events: object) -> bool:
    return getattr(events, "gi_frame", None) is None


NOT_EARLY = (IterationStarted, Waiting, CheckStarted, ReviewStarted, ReviewTurnStarted, OutputText, LoopEnded)
"""Events behind which the first line waits no longer."""


class Renderer:
    """Prints the events of one loop; if `quiet`, only text, and the reason when it ends incomplete.

    steps_only: of a loop that prints by itself.
    opening: gives the first line, and notes below it, from the first command, as the driver built it (else empty).
    """

    def __init__(
        self,
        *,
        max_iterations: int | None,
        quiet: bool = False,
        steps_only: bool = False,
        opening: Opening | None = None,
    ) -> None:
        self._steps_only = steps_only
        self._of = max_iterations
        self._opening = opening
        self._early: list[LoopEvent] = []
        self._quiet = quiet
        self._style = Style(sys.stderr)
        self._page = Page(sys.stdout) if flows(sys.stdout) else None
        self._so_far = SoFar()
        self._pieces = Pieces()
        self._line_open = False
        self._advice: set[str] = set()

    def show(self, event: LoopEvent) -> None:
        self._so_far.take(event)
        if self._opening is not None:
            if not isinstance(event, NOT_EARLY):
                self._early.append(event)
                return
            self.begin(event.argv if isinstance(event, IterationStarted) else ())
        match event:
            case OutputText() if self._steps_only:
                pass
            case OutputText() if self._page is not None:
                self._page.write(event.text)
            case OutputText():
                write_text(self._pieces.add(event.text))
                self._line_open = not event.text.endswith("\n")
            case RunProgress():
                pass
            case _:
                self.finish_line()
                self._show_line(event)

    def begin(self, argv: Sequence[str] = ()) -> None:
        """Print the first line, which waits for the first command, and then what was told before it."""
        opening, self._opening = self._opening, None
        if opening is not None:
            say(*opening(argv))
        early, self._early = self._early, []
        for event in early:
            self._show_line(event)

    def _show_line(self, event: LoopEvent) -> None:
        if isinstance(event, DenialHelp):
            self._denial_help(event)
        elif isinstance(event, LoopEnded):
            if event.verdict is not Verdict.COMPLETE or not self._quiet:
                say(last_line(self._style, event))
        elif not self._quiet:
            self._step(event)

    def interrupted(self, error: BaseException) -> None:
        self.begin()
        self.finish_line()
        if not self._quiet:
            say(self._so_far.interrupted(self._style, error))

    def finish_line(self) -> None:
        if self._page is not None:
            self._page.end()
        elif (rest := self._pieces.end()) or self._line_open:
            write_text(f"{rest}\n")
            self._line_open = False

    def _step(self, event: LoopEvent) -> None:
        style = self._style
        match event:
            case Notice():
                say(f"{style('note:', 'yellow')} {event.text}")
            case Waiting() if event.first and event.reason != "pause" and event.left >= 1:
                until = event.until.strftime("%H:%M:%S" if event.left < _A_DAY else "%A %H:%M")
                say(f"{style('waiting', 'yellow')} for {duration(event.left)}, until {until} · {event.reason}")
            case CheckStarted() | CheckEnded() | ReviewTurnStarted() | ReviewTurnEnded() | ReviewStarted():
                say(f"{self._where(event.iteration)} {event}")
            case ReviewEnded():
                say(f"{self._where(event.iteration)} review has {'' if event.findings else 'no '}findings")
            case IterationStarted():
                self._started(event)
            case IterationEnded():
                self._ended(event)

    def _denial_help(self, event: DenialHelp) -> None:
        """Show advice once: where each turn is a loop of its own, every one of them gives it."""
        if not event.text or event.text in self._advice:
            return
        self._advice.add(event.text)
        refused = ", ".join(event.refused[:5]) or "a tool"
        say(f"{self._where(event.iteration)} {self._style('permission denied', 'yellow')} for {refused}")
        for line in event.text.split("\n"):
            say(f"  {line}")

    def _where(self, iteration: int) -> str:
        return self._style(f"[{iteration}/{self._of}]" if self._of else f"[{iteration}]", "cyan", "bold")

    def _started(self, event: IterationStarted) -> None:
        if self._style.terminal and event.iteration > 1:
            say("")
        if event.argv:  # else there is nothing to start, which the end of the iteration tells
            session = f"resumes {event.session_id}" if event.session_id else "new session"
            task = f" · next: {event.plan.next_task}" if event.plan and event.plan.next_task else ""
            say(f"{self._where(event.iteration)} {os.path.basename(event.argv[0])} started · {session}{task}")

    def _ended(self, event: IterationEnded) -> None:
        style, where, took = self._style, self._where(event.iteration), duration(event.seconds)
        if event.outcome.failure:
            why = event.decision.detail or event.outcome.failure
            say(f"{where} {style('failed', 'red')} after {took}{work_of(event)} · {why} · {event.log}")
            return
        plan = event.outcome.plan
        progress = f" · {plan.done} of {plan.total} tasks ticked" if plan and plan.total else ""
        left = event.turn.session if event.turn is not None else event.outcome.session_id
        session = f" · session {left}" if left else ""
        ran_out = " (it ran out of time, with work done)" if event.outcome.productive else ""
        made = f"{work_of(event)}{progress}{session}{_refused(event)}"
        say(f"{where} {style('done', 'green')} in {took}{ran_out}{made}")


def work_of(event: IterationEnded, before: str = " · ") -> str:
    """What a turn has changed, behind `before`; '' where nobody can tell."""
    files = event.turn.files_changed if event.turn is not None else None
    work = " · ".join(filter(None, (changed(files, event.worked), *map(one_line, event.took))))
    return f"{before}{work}" if work else ""


def _refused(event: IterationEnded) -> str:
    """Name the tools that the agent was refused: a loop may go on for ever without what they would have done."""
    analysis = event.outcome.analysis
    commands = ", ".join(analysis.denied_commands[:5]) if analysis and event.outcome.denied else ""
    return f" · refused: {commands}" if commands else ""


# -- the first and the last line ---------------------------------------------------------------------


def first_lines(tool: Driver | Agent | str, loop: LoopSettings) -> Opening:
    """Give the first line, and a note below it, from the first command."""

    def lines(argv: Sequence[str]) -> list[str]:
        told = _told(tool, argv)
        note = commits_refused(told) if loop.box is None else _outside(tool)
        return [first_line(tool, loop, told), *([_note(note)] if note else [])]

    return lines


def _outside(tool: Driver | Agent | str) -> str:
    """What is to be said of a script that isn't ours, beside a box."""
    if isinstance(tool, str) or is_ours(str(tool.script)):
        return ""
    return f"{shown_script(tool.script)} is none of ours: its functions run outside of the box, with your rights"


def first_line(tool: Driver | Agent | str, loop: LoopSettings, argv: Sequence[str] = ()) -> str:
    """Say what is about to run, what it may do, and its limits.

    Args:
        tool: a script, or words for it. argv: the first command; empty: it isn't known.
    """
    most, seconds = loop.limits.max_iterations, loop.limits.max_seconds
    count = f"at most {plural(most, 'iteration')}" if most is not None else "any number of iterations"
    total = f"{_minutes(seconds)} in all" if seconds is not None else "any time in all"
    turn = f"{_minutes(loop.timeout)} per turn" if loop.timeout is not None else "any time per turn"
    reserves = f" · {loop.reserves.shown}" if loop.reserves is not None else ""
    gates = f" · {loop.gates.shown}" if loop.gates is not None else ""
    limits = ", ".join((count, total, turn, *_caps(loop)))
    prompt = f" · prompt {loop.prompt}" if loop.prompt else ""
    return f"{_named(tool)} · {_may(tool, loop, argv)}{prompt} · {limits}{reserves}{gates}"


def _told(tool: Driver | Agent | str, argv: Sequence[str]) -> Sequence[str]:
    """A command; of an agent, which runs its program itself, as far as its variables tell."""
    from bridge.scripts.driver import Driver  # an agent's module costs a driver's loop its start

    if isinstance(tool, Driver | str):
        return argv
    words = tool.shell.get("AGENT_ARGS")
    return (tool.cli, *words.split()) if isinstance(words, str) else ()


def _may(tool: Driver | Agent | str, loop: LoopSettings, argv: Sequence[str]) -> str:
    from bridge.scripts.driver import Driver

    told = _told(tool, argv)
    every = unrestricted(told, boxed=loop.box is not None)
    if every is False and not isinstance(tool, Driver | str):
        every = None  # an agent's own code may add what its variables don't tell
    words = {True: "all permissions, ", False: "limited permissions, ", None: ""}[every]
    if every is None and isinstance(tool, Driver | str) and told and find_cli(told[0]) is not None:
        words = "permissions as its settings have them, "
    return words + ("no box" if loop.box is None else f"box {loop.box.name}")


def _caps(loop: LoopSettings) -> list[str]:
    caps = loop.caps
    return [
        *([f"cap {usd(caps.max_cost)}"] if caps.max_cost is not None else []),
        *([f"cap {caps.max_tokens:,.0f} tokens"] if caps.max_tokens is not None else []),
        *([f"cap {caps.tokens_per_hour:,.0f} tokens per hour"] if caps.tokens_per_hour is not None else []),
    ]


def _note(text: str) -> str:
    return f"{Style(sys.stderr)('note:', 'yellow')} {text}"


def _named(tool: Driver | Agent | str) -> str:
    from bridge.scripts.driver import Driver  # an agent's module costs a driver's loop its start

    if isinstance(tool, str):
        return tool
    kind, name = ("driver", tool.display_name()) if isinstance(tool, Driver) else ("agent", tool.cli)
    return f"{name} · {kind} {shown_script(tool.script)}"


def last_line(style: Style, end: LoopEnded) -> str:
    word = style("complete", "green", "bold") if end.verdict is Verdict.COMPLETE else _incomplete(style)
    why = f"{end.detail} ({end.reason})" if end.detail else end.reason
    return _last_line(word, end.iterations, end.seconds, end.totals, why)


class SoFar:
    """What the events of a loop have come to, for the last line when a signal ends it."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._iterations = 0
        self._totals = NO_TURNS

    def take(self, event: LoopEvent) -> None:
        if isinstance(event, IterationStarted):
            self._iterations = event.iteration
        elif isinstance(event, IterationEnded) and event.turn is not None:
            self._totals = self._totals.with_turn(event.turn)

    def interrupted(self, style: Style, error: BaseException) -> str:
        why = f"interrupted ({interruption(error)[1]})"
        return _last_line(_incomplete(style), self._iterations, time.monotonic() - self._began, self._totals, why)


def _incomplete(style: Style) -> str:
    return style("incomplete", "red", "bold")


def _last_line(word: str, iterations: int, seconds: float, totals: Totals, why: str) -> str:
    ended = f"{word} after {plural(iterations, 'iteration')}, {totals.failures} failed, {duration(seconds)}"
    return f"{ended} · {used(totals)}: {why}"


def used(totals: Totals) -> str:
    """Say what turns have used and made; what nobody knows is called unknown."""
    facts = (
        "tokens unknown" if totals.tokens is None else f"{totals.tokens:,.0f} tokens",
        "cost unknown" if totals.cost_usd is None else usd(totals.cost_usd),
        "commits unknown" if totals.commits is None else plural(totals.commits, "commit"),
    )
    return " · ".join(facts)


def _minutes(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes >= 1 and math.isclose(minutes, round(minutes)) else duration(seconds)


def preview(opened: Opened) -> int:
    """Print what would run on stdout, and on stderr what is to be known of it. Touches nothing."""
    from bridge.loop.turn.driver import in_box
    from bridge.loop.turn.tool import Command

    lines, what = opened.preview()
    begun = opened.begun()
    if begun is not None and isinstance(what, Command) and (boxed := in_box(what, begun[1])) is not None:
        files = (f"{os.path.join(boxed.folder, name)}:\n{text}" for name, text in boxed.files.items())
        lines = [*lines, f"variables in the box: {', '.join(sorted(boxed.inside))}", *files]
        what = Command(boxed.argv, what.stdin, note=what.note)
    elif begun is not None and isinstance(what, Command) and (why := commits_refused(what.argv)):
        lines = [*lines, f"note: {why}"]
    if isinstance(what, Command) and what.note:
        lines = [*lines, f"note: {what.note}"]
    if begun is not None and begun[1].reserves is not None:
        lines = [*lines, f"further tools: {begun[1].reserves.shown}"]
    if begun is not None and begun[1].gates is not None:
        lines = [*lines, f"before it is complete: {begun[1].gates.shown}"]
    say(*lines)
    write(what if isinstance(what, bytes) else _shell_line(what.argv, what.stdin))
    return 0


def preview_without(error: ProjectCodeNotRun) -> int:
    """The same where only a project's code, which isn't run, could say what the command is."""
    say(*error.shown, *f"note: the command can't be shown: {error}".split("\n"))
    return 0


def _shell_line(argv: Sequence[str], stdin: bytes | None) -> bytes:
    """A command as a line that bash would run, with what it reads on stdin."""
    import shlex

    line = os.fsencode(shlex.join(argv)) + b"\n"
    return line if stdin is None else b"printf %s " + os.fsencode(shlex.join([os.fsdecode(stdin)])) + b" | " + line
