"""`Loop`: the loop of a project, of whichever kind, as a stream of events."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

from bridge.errors import ConfigurationError
from bridge.loop.caps import VARIABLES, Caps
from bridge.loop.events import EventStream, LoopEnded, Notice
from bridge.options import check_options
from bridge.resources import os_text
from bridge.setups.asked import (
    RunOptions,
    bmalph_run,
    frankbria_run,
    plain_settings,
    ralph_options,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from bridge.loop.events import LoopEvent
    from bridge.setups.model import Setup

    Tell = Callable[[str], None]

KINDS = ("plain", "bmalph", "ralph-loop", "frankbria", "wiggum")
"""What `Loop.open` takes for ``setup``."""


class _Opened(Protocol):
    """What each kind of setup opens."""

    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it."""


class LoopOptions(TypedDict, total=False):
    """The options of `Loop.open`, which says what they mean."""

    driver: str | os.PathLike[str] | None
    agent: str | os.PathLike[str] | None
    prompt: str | os.PathLike[str] | None
    words: Sequence[str]
    task: str | None
    max_iterations: int | None
    max_minutes: float | None
    max_cost: float | None
    max_tokens: float | None
    tokens_per_hour: float | None
    price_in: float | None
    price_out: float | None
    calls: int | None
    max_failures: int | None
    max_idle: int | None
    timeout: float | None
    retry_delay: float | None
    promise: str | None
    allowed_tools: str | None
    live: bool
    resume: bool
    settings: Mapping[str, str]


_ONLY = {
    "driver": ("plain", "bmalph", "frankbria", "wiggum"),
    "agent": ("plain", "ralph-loop", "wiggum"),
    "prompt": ("plain", "bmalph", "ralph-loop", "frankbria"),
    "words": ("ralph-loop",),
    "task": ("wiggum",),
    "calls": ("bmalph", "frankbria"),
    "max_failures": ("plain", "bmalph", "frankbria"),
    "max_idle": ("plain", "ralph-loop"),
    "promise": ("plain", "bmalph", "frankbria", "wiggum"),
    "allowed_tools": ("plain", "bmalph", "frankbria"),
    "live": ("plain", "bmalph", "frankbria", "wiggum"),
    "resume": ("plain", "bmalph", "frankbria"),
}
"""Options that not every kind has, as on the command line."""


class Loop(EventStream[LoopEnded]):
    """A loop at work: iterate over its events; the last one is a `LoopEnded`.

    Whatever the kind of the project, there is an ``IterationStarted`` before each run of the tool, ``OutputText``
    with what people are to read, ``Waiting`` while it waits, a ``Notice`` for what should be known, and an
    ``IterationEnded`` whose `turn` sums the run up (:mod:`bridge.loop.events`). Nothing is printed.

    Leaving early (:meth:`close`, the end of a ``with`` block, or dropping the loop) ends the tool and everything
    that it has started. One thread at a time may use it; which one doesn't matter.

    Attributes:
        project: the project's folder.
        setup: its kind, one of `KINDS`.
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

        The options mean what those of ``ralph-bridge run`` (and ``wiggum start``) mean, units included. One that
        the kind of the project doesn't have is refused.

        Args:
            project: its folder, or one below it.
            setup: one of `KINDS`; None: told by the project's files, as ``run`` does. A wiggum loop is begun by
                ``setup="wiggum"`` or a task, and goes on by itself in a folder that is nothing else.
            driver: name or path of a driver; a path is seen from the working folder.
            agent: the same of an agent (not in bmalph and frankbria).
            prompt: prompt file, seen from the project (not in wiggum).
            words: of the controller's command line, such as ``["build", "3"]`` (ralph-loop).
            task: what is to be done, in words (wiggum).
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
            retry_delay: seconds after a failed run, doubled with each one in a row.
            promise: the assistant's promise that ends the loop (not in ralph-loop).
            allowed_tools: tools that the agent may use (plain, bmalph, frankbria).
            live: show output while it comes, where that is supported.
            resume: resume the session of the run before (plain, bmalph, frankbria).
            settings: globals for the script.

        Raises:
            ProjectBusy: another loop is at work there; says which.
            ConfigurationError: an option, a setting or a file that can't be used; what the project lacks.
            LoopRefused: a wiggum loop that may not start as things are.
            SessionRefused: a check of a ralph-loop setup failed, in its controller's words.
            BridgeError: the tool can't be loaded or started, a file can't be read or written.
        """
        known = {"project": "str | os.PathLike[str]", "setup": "str | None", **LoopOptions.__annotations__}
        check_options("Loop.open", {"project": project, "setup": setup, **options}, known)
        _check_numbers(options)
        asked = _asked(options)
        folder = _folder(project)
        kind, found = _kind(folder, setup, asked)
        _check_options(kind, asked)
        return cls(folder, kind, _events(lambda tell: _open(kind, folder, found, asked, tell)))

    def __repr__(self) -> str:
        return f"<Loop {self.setup}, {self.project}{', ended' if self.ended else ''}>"


def _events(
    opening: Callable[[Tell], AbstractContextManager[_Opened]],
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
    """Say which project `Loop.open` would open, and of which of the `KINDS` it takes it to be.

    Args:
        project: its folder, or one below it.
        setup: one of `KINDS`; None: told by the project's files.
        script: the driver or agent, for projects that ask for what another one would do.
        settings: globals for the script, likewise.

    Raises:
        ConfigurationError: there is no such folder or setup, or there are several setups.
    """
    folder = _folder(project)
    return folder, _kind(folder, setup, _asked({"driver": script, "settings": settings or {}}))[0]


# -- which kind, and with what -----------------------------------------------------------------------


def _folder(project: str | os.PathLike[str]) -> Path:
    from bridge.setups.projects import project_above

    folder = Path(os.path.abspath(project))
    if not folder.is_dir():
        raise ConfigurationError(f"{os.fspath(project)}: there is no such folder")
    return project_above(folder)


def _kind(folder: Path, setup: str | None, asked: RunOptions) -> tuple[str, Setup | None]:
    from bridge.setups.projects import choose, has_prompt, is_bare
    from bridge.setups.unserved import refuse
    from bridge.setups.wiggum.files import Layout

    if setup is not None and setup not in KINDS:
        raise ConfigurationError(f"setup={setup!r}: there is no such setup; known: {', '.join(KINDS)}")
    script = asked.driver or asked.agent
    refuse(folder, os.environ, given=asked.settings, driver=script)
    if setup in ("plain", "wiggum"):
        return setup, None
    if setup is None and asked.task is not None:
        return "wiggum", None
    found = choose(folder, setup, asked.words)
    if found is not None and (setup or found.name == "ralph-loop" or not is_bare(found)):
        return found.name, found
    begun = Layout(folder).state.is_file() and (found is None or not has_prompt(folder))
    return ("wiggum" if begun else "plain"), None


def _check_options(kind: str, asked: RunOptions) -> None:
    nothing = RunOptions()
    for each in fields(asked):
        homes = _ONLY.get(each.name, KINDS)
        if kind not in homes and getattr(asked, each.name) != getattr(nothing, each.name):
            raise ConfigurationError(
                f"{each.name} does not apply to a {kind} loop\n  next: leave it out; it is for {', '.join(homes)}"
            )
    if asked.driver is not None and asked.agent is not None:
        raise ConfigurationError("driver and agent exclude each other\n  next: give one of them")


def _check_numbers(options: LoopOptions) -> None:
    for name, least in (
        ("max_iterations", 1),
        ("calls", 1),
        ("max_failures", 0),
        ("max_idle", 0),
        ("retry_delay", 0),
    ):
        value: Any = options.get(name)
        if value is not None and not value >= least:
            raise ConfigurationError(f"{name} is {value!r}, expected a number from {least}")
    for name in ("max_minutes", "timeout"):
        value = options.get(name)
        if value is not None and not value > 0:
            raise ConfigurationError(f"{name} is {value!r}, expected a number of minutes above 0")


def _asked(options: LoopOptions) -> RunOptions:
    given: dict[str, Any] = {**options, "words": tuple(options.get("words", ()))}
    caps = Caps(**{name: given.pop(name, None) for name in VARIABLES})
    for name in ("driver", "agent", "prompt"):
        if given.get(name) is not None:
            given[name] = os.fspath(given[name])
    if given.get("calls") is not None:
        given["calls"] = str(given["calls"])
    return RunOptions(**given, caps=caps)


# -- one opening per kind ----------------------------------------------------------------------------


def _open(
    kind: str, folder: Path, found: Setup | None, asked: RunOptions, tell: Tell
) -> AbstractContextManager[_Opened]:
    if kind == "wiggum":
        return _wiggum(folder, asked, tell)
    if found is None:
        return _plain(folder, asked, tell)
    opening = {"bmalph": _bmalph, "ralph-loop": _ralph_loop, "frankbria": _frankbria}[kind]
    return opening(found, asked, tell)


def _plain(folder: Path, asked: RunOptions, tell: Tell) -> AbstractContextManager[_Opened]:
    from bridge.setups.plain.opening import open_agent_loop, open_loop

    given, agent = plain_settings(folder, asked), asked.script("agent")
    if agent is None:
        driver = asked.script("driver")
        return open_loop(folder, given, driver, asked.globals, tell, allowed_tools=asked.allowed_tools)
    if asked.allowed_tools is not None or not asked.resume:
        raise ConfigurationError("allowed_tools and resume are for drivers: no hook of an agent takes them")
    return open_agent_loop(folder, given, agent, asked.globals)


def _bmalph(found: Setup, asked: RunOptions, tell: Tell) -> AbstractContextManager[_Opened]:
    from bridge.setups.bmalph.opening import open_loop
    from bridge.setups.dot_ralph.folder import locate

    return open_loop(locate(found.project), bmalph_run(asked), tell)


def _frankbria(found: Setup, asked: RunOptions, tell: Tell) -> AbstractContextManager[_Opened]:
    from bridge.setups.frankbria.layout import folder_of
    from bridge.setups.frankbria.opening import open_loop

    return open_loop(folder_of(found.project), frankbria_run(asked), tell, env=os.environ)


def _ralph_loop(found: Setup, asked: RunOptions, tell: Tell) -> AbstractContextManager[_Opened]:
    from bridge.setups.ralph_loop.opening import open_loop, request_of

    request = request_of(found, asked.words, prompt=asked.prompt, max_iterations=asked.max_iterations)
    return open_loop(found, request, ralph_options(asked), tell)


def _wiggum(folder: Path, asked: RunOptions, tell: Tell) -> AbstractContextManager[_Opened]:
    from bridge.setups.wiggum.files import Layout
    from bridge.setups.wiggum.opening import environment_defaults, open_outer
    from bridge.setups.wiggum.start import StartRequest

    tools = {kind: asked.script(kind) for kind in ("driver", "agent")}
    request = StartRequest(
        description=None if asked.task is None else os_text(asked.task),
        promise=None if asked.promise is None else os_text(asked.promise),
        max_iterations=asked.max_iterations,
        environment=environment_defaults(asked.max_iterations, asked.promise),
        max_minutes=asked.max_minutes,
        tool=next((f"{kind} {script}" for kind, script in tools.items() if script is not None), None),
    )
    return open_outer(Layout(folder), request, asked, tell)
