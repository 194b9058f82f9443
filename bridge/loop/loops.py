"""`Loop`: the loop of a project, of whichever kind, as a stream of events."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from bridge.base.options import check_options
from bridge.errors import ConfigurationError
from bridge.loop.engine.event_stream import EventStream
from bridge.loop.engine.events import LoopEnded, Notice
from bridge.loop.setups import PLAIN, SCRIPT, check, kinds
from bridge.loop.setups.options import OPTIONS, RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import timedelta

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.setups.setup_kind import Opened, Setup, SetupKind


class LoopOptions(TypedDict, total=False):
    """The options of `Loop.open`, which says what they mean."""

    driver: str | os.PathLike[str] | None
    script: str | os.PathLike[str] | None
    agent: str | os.PathLike[str] | None
    prompt: str | os.PathLike[str] | None
    mode: str | None
    tasks: str | os.PathLike[str] | None
    push: bool
    words: Sequence[str]
    task: str | None
    max_iterations: int | None
    max_minutes: float | timedelta | None
    max_cost: float | None
    max_tokens: float | None
    tokens_per_hour: float | None
    price_in: float | None
    price_out: float | None
    calls: int | None
    max_failures: int | None
    max_idle: int | None
    timeout: float | timedelta | None
    exit_grace: float | timedelta | None
    max_silence: float | timedelta | None
    max_context: str | None
    retry_delay: float | timedelta | None
    promise: str | None
    allowed_tools: str | None
    live: bool
    resume: bool | None
    sandbox: str | None
    sandbox_write: Sequence[str]
    sandbox_env: Sequence[str]
    sandbox_network: str | None
    sandbox_image: str | None
    model: str | None
    fallback: str | None
    escalate: str | None
    check: str | None
    check_every_turn: bool
    check_minutes: float | timedelta | None
    telemetry: str | None
    telemetry_content: bool
    review: str | None
    review_every: int | None
    review_rounds: int | None
    settings: Mapping[str, str]


class Loop(EventStream[LoopEnded]):
    """A loop at work: iterate over its events; the last one is a `LoopEnded`.

    Whatever the kind of the project, there is an ``IterationStarted`` before each run of the tool, ``OutputText``
    with what people are to read, ``Waiting`` while it waits, a ``Notice`` for what should be known, and an
    ``IterationEnded`` whose `turn` sums the run up (:mod:`bridge.loop.engine.events`). Nothing is printed.

    Leaving early (:meth:`close`, the end of a ``with`` block, or dropping the loop) ends the tool and everything
    that it has started. One thread at a time iterates; which one doesn't matter. :meth:`stop` may be called from
    any other. In asyncio: ``async with loop:`` and ``async for event in loop``; a task that is cancelled ends the
    loop.

    Attributes:
        project: the project's folder.
        setup: its kind, a kind of setup.
        ended: the last event, once it was there; else None.
    """

    _last = LoopEnded

    def __init__(self, project: Path, setup: str, events: Generator[LoopEvent, None, None]) -> None:
        self.project = project
        self.setup = setup
        self._begin(events)

    @classmethod
    def open(
        cls,
        project: str | os.PathLike[str] = ".",
        *,
        setup: str | None = None,
        **options: Unpack[LoopOptions],
    ) -> Loop:
        """Check everything, load the tool and take the project's lock; the loop goes on as it is iterated over.

        The options mean what those of ``ralph-bridge run`` (and ``wiggum start``) mean, units included; a duration
        may also be a timedelta. One that the kind of the project doesn't have is refused.

        Args:
            project: its folder, or one below it.
            setup: a kind of setup; None: told by the project's files, as ``run`` does. A wiggum loop is begun by
                ``setup="wiggum"`` or a task, and goes on by itself in a folder that is nothing else.
            driver: name or path of a driver; a path is seen from the working folder.
            script: a script that calls a coding CLI in a loop, which is run as it is, seen from the working folder;
                `words` are its arguments, and what it prints goes to ``.ralph/logs/script.log``.
            agent: the same of an agent (not in bmalph and frankbria).
            prompt: prompt file, seen from the project (not in wiggum).
            mode: what the turns are for: ``build`` or ``plan`` (playbook).
            tasks: file with the list of tasks, seen from the project (ralphy).
            push: False: what the project's script pushes stays here (kinds whose script is run).
            words: of the controller's command line, such as ``["build", "3"]`` (ralph-loop).
            task: what is to be done, in words (wiggum); of a project's script: beside its own prompts.
            max_iterations: then give up; default 50 in a plain folder, else as the setup says.
            max_minutes: then give up, the turn that is under way with it.
            max_cost: start no turn when so many US dollars are spent.
            max_tokens: start no turn when so many tokens are used, in and out.
            tokens_per_hour: wait for the next clock hour after so many tokens.
            price_in, price_out: US dollars per million tokens, for a CLI that tells no cost.
            calls: runs that may succeed (bmalph), or begin (frankbria), per clock hour.
            max_failures: give up after so many failed runs in a row (plain, bmalph, frankbria); 0: never.
            max_idle: give up after so many runs in a row that changed nothing (plain, ralph-loop, whose loops have
                no circuit breaker); default 5, 0: never.
            timeout: minutes that each run of the tool may take; default as the setup says.
            exit_grace: seconds that its CLI may stay once it has answered; default 5, 0: any time.
            max_silence: minutes that a run may print nothing; then it is ended.
            max_context: how full the context of a session may be that is carried on, before a fresh one begins:
                per cent of the model's window, or tokens: ``80%``, ``120k`` (plain, bmalph, frankbria).
            retry_delay: seconds after a failed run, doubled with each one in a row.
            promise: the assistant's promise that ends the loop (not in ralph-loop).
            allowed_tools: tools that the agent may use (plain, bmalph, frankbria).
            live: show output while it comes, where that is supported.
            resume: go on in the session of the turn before (plain, bmalph, frankbria); None: as the setup
                says, in a folder with a prompt alone a new one for each turn.
            sandbox: where the tool runs: ``bwrap``, ``docker``, ``podman``, ``srt``, or ``none``; default as the
                environment and the user's configuration say.
            sandbox_write, sandbox_env: folders that it may write to, variables that it gets, beside its own.
            sandbox_network: ``on``, ``off``, or hosts, separated by commas (srt).
            sandbox_image: of a container (docker, podman), with the CLI in it; default: this machine's programs.
            model: that the driver's CLI is to use, and how hard that is to think: ``opus``, ``gpt-5:high``.
            fallback: tools for the turns while those before them are at a limit: ``driver:codex,agent:claude``.
            escalate: a tool for what so many turns have not done: ``3:driver:claude-code@opus``.
            check: a command that has to succeed before the loop is complete, such as ``make test``.
            check_every_turn: run it behind each turn that ended well, and tell the next one.
            check_minutes: that it may take; default 10.
            telemetry: ``otlp`` for a trace and metrics of the run, ``none``; default as the environment says.
            telemetry_content: prompts, answers and what tools are called with are sent, too.
            review: another tool, which reviews the work before the loop is complete: ``driver:codex``.
            review_every: likewise behind every so many iterations.
            review_rounds: reviews in a row that may keep the loop from its end; default 3.
            settings: globals for the script.

        Raises:
            ProjectBusy: another loop is at work there; says which.
            ConfigurationError: an option, a setting or a file that can't be used; what the project lacks.
            LoopRefused: a wiggum loop that may not start as things are.
            SessionRefused: a check of a ralph-loop setup failed, in its controller's words.
            SandboxUnavailable: such a box can't be made here.
            BridgeError: the tool can't be loaded or started, a file can't be read or written.
        """
        known = {name: each.annotation for name, each in OPTIONS.items() if each.python}
        known |= {"project": "str | os.PathLike[str]", "setup": "str | None"}
        check_options("Loop.open", {"project": project, "setup": setup, **options}, known)
        for name, value in options.items():
            OPTIONS[name].check(value)
        wanted = _run_options(options)
        folder = _folder(project)
        kind, found = found_kind(folder, setup, wanted)
        check(kind, wanted)
        return cls(folder, kind.name, _events(lambda tell: kind.open(folder, found, wanted, tell)))

    def __repr__(self) -> str:
        return f"<Loop {self.setup}, {self.project}{', ended' if self.ended else ''}>"


def _events(
    opening: Callable[[Callable[[str], None]], AbstractContextManager[Opened]],
) -> Generator[LoopEvent, None, None]:
    notices: list[str] = []
    with opening(notices.append) as opened, closing(opened.events()) as events:
        first = next(events)  # with it, the project is ours
        yield from map(Notice, notices)
        yield first
        yield from events


def kind_of(
    project: str | os.PathLike[str] = ".",
    setup: str | None = None,
    *,
    script: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> tuple[Path, str]:
    """Say which project `Loop.open` would open, and of which kind it takes it to be.

    Args:
        project: its folder, or one below it.
        setup: a kind of setup; None: told by the project's files.
        script: the driver or agent, for projects that ask for what another one would do.
        settings: globals for the script, likewise.

    Raises:
        ConfigurationError: there is no such folder or setup, or there are several setups.
    """
    folder = _folder(project)
    return folder, found_kind(folder, setup, _run_options({"driver": script, "settings": settings or {}}))[0].name


# -- which kind, and with what -----------------------------------------------------------------------


def _folder(project: str | os.PathLike[str]) -> Path:
    from bridge.base.log import logger
    from bridge.loop.sandbox.recovery import look_behind
    from bridge.loop.setups.projects import project_above

    folder = Path(os.path.abspath(project))
    if not folder.is_dir():
        raise ConfigurationError(f"{os.fspath(project)}: there is no such folder")
    for line in look_behind(folder):
        logger().warning("%s: %s", folder, line)
    return project_above(folder)


def found_kind(folder: Path, setup: str | None, wanted: RunOptions) -> tuple[SetupKind, Setup | None]:
    """Say what `Loop.open` would open in a project's folder; the rest as for `kind_of`."""
    from bridge.loop.setups.projects import choose, has_prompt
    from bridge.loop.setups.unserved import refuse

    known = kinds()
    if setup is not None and setup not in known:
        raise ConfigurationError(f"setup={setup!r}: there is no such setup; known: {', '.join(known)}")
    script = wanted.driver or wanted.agent
    refuse(folder, os.environ, given=wanted.settings, driver=script, sandbox=wanted.sandbox)
    if wanted.script is not None:
        return known[SCRIPT], None
    if setup is not None and known[setup].installation is None:
        return known[setup], None
    if setup is None and wanted.task is not None:
        return next(kind for kind in known.values() if kind.begun is not None and "task" in kind.options), None
    found = choose(folder, setup, wanted.words)
    if found is not None and (setup or not found.bare):
        return known[found.name], found
    if found is None or not has_prompt(folder):
        for kind in known.values():
            if kind.begun is not None and kind.begun(folder):
                return kind, None
    return known[PLAIN], None


def _run_options(options: LoopOptions) -> RunOptions:
    given: dict[str, Any] = {name: OPTIONS[name].number(value) for name, value in options.items()}
    given["words"] = tuple(options.get("words", ()))
    for name in ("script", "driver", "agent", "prompt", "tasks"):
        if given.get(name) is not None:
            given[name] = os.fspath(given[name])
    if given.get("calls") is not None:
        given["calls"] = str(given["calls"])
    return RunOptions.of(given)
