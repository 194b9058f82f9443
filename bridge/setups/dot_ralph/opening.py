"""What is asked of a run of either loop, and the run itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from bridge import resources
from bridge.errors import ConfigurationError, UnknownDriver
from bridge.loop.caps import VARIABLES, Caps
from bridge.loop.outcome import Outcome
from bridge.loop.policy import Limits, Pauses
from bridge.loop.store import LoopSettings
from bridge.process.program import Graces
from bridge.resources import os_text
from bridge.setups.dot_ralph.folder import own_files
from bridge.setups.dot_ralph.keys import GivenOption
from bridge.setups.dot_ralph.policy import FolderState
from bridge.setups.dot_ralph.tools import OPTION
from bridge.setups.projects import active_run, require_words
from bridge.turn.logs import MB

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from bridge.driver import Driver
    from bridge.loop.events import LoopEvent
    from bridge.setups.asked import RunOptions
    from bridge.setups.dot_ralph.common import CommonSettings
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.policy import FolderPolicy
    from bridge.setups.dot_ralph.settings import Settings
    from bridge.setups.dot_ralph.store import FolderStore
    from bridge.turn.driver import DriverTool

S = TypeVar("S", bound=FolderState)
O = TypeVar("O", bound=Outcome)  # noqa: E741


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRun:
    """What is asked of a run.

    Attributes:
        options: settings by field.
        extra: settings and globals of the driver by name.
        live: show events as they come.
        max_iterations, max_seconds: when to give up; None: never.
        timeout: seconds that one run may take, where whole minutes won't do; None: as the settings say.
        caps: what the run may use; the settings fill in what isn't set.
        promise: a completion promise that ends the loop, too; None without one.
    """

    options: Mapping[str, GivenOption] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    live: bool = False
    max_iterations: int | None = None
    max_seconds: float | None = None
    timeout: float | None = None
    caps: Caps = field(default_factory=Caps)
    promise: str | None = None


def options_of(
    *,
    driver: str | None = None,
    prompt: str | None = None,
    calls: str | None = None,
    timeout: float | None = None,
    retry_delay: float | None = None,
    max_failures: int | None = None,
    resume: bool = True,
    allowed_tools: str | None = None,
) -> dict[str, GivenOption]:
    """What the options of ``run`` say about settings; `timeout` in minutes, `retry_delay` in seconds."""
    given = {
        "platform_driver": ("--driver", driver and resources.as_given(driver, "driver")),
        "prompt_file": ("--prompt", prompt),
        "max_calls_per_hour": ("--calls", calls),
        "timeout_minutes": ("--timeout", None if timeout is None else str(math.ceil(timeout))),
        "retry_seconds": ("--retry-delay", None if retry_delay is None else f"{retry_delay:g}"),
        "retry_limit": ("--max-failures", None if max_failures is None else str(max_failures)),
        "session_continuity": ("--no-continue", None if resume else "false"),
        "allowed_tools": (OPTION, allowed_tools),
    }
    return {
        field: GivenOption(option, os_text(text)) for field, (option, text) in given.items() if text is not None
    }


def loop_settings(
    folder: Folder, settings: CommonSettings, wanted: WantedRun, *, env: Mapping[str, str], live: bool
) -> LoopSettings:
    """Translate the settings for the engine.

    Args:
        folder: the loop's folder.
        settings: of the project.
        wanted: what is asked for.
        env: environment of the agent.
        live: show events as they come.
    """
    grace = settings.kill_grace_seconds
    return LoopSettings(
        project=folder.project,
        prompt=settings.prompt_file,
        limits=Limits(wanted.max_iterations, settings.retry_limit, wanted.max_seconds),
        pauses=Pauses(
            settings.retry_seconds,
            settings.retry_max_seconds,
            settings.limit_wait_seconds,
            settings.pause_seconds,
        ),
        live=live,
        promise=wanted.promise,
        timeout=settings.timeout if wanted.timeout is None else wanted.timeout,
        caps=wanted.caps.over(Caps(**{name: getattr(settings, name) for name in VARIABLES})),
        resume=settings.session_continuity,
        env=env,
        files=own_files(folder),
        poll_seconds=settings.poll_seconds,
        graces=Graces(interrupt=grace, terminate=grace, leftover=min(grace, Graces.leftover)),
        turn_log_bytes=int(settings.turn_log_mb * MB),
    )


def require_prompt(folder: Folder, settings: CommonSettings, advice: str) -> None:
    """Refuse to start without a prompt.

    Raises:
        ConfigurationError: it is not there, with `advice` as the next step; or it is empty.
    """
    name = settings.prompt_file
    if not (folder.project / name).is_file():
        where = settings.sources["prompt_file"]
        raise ConfigurationError(f"the prompt {name} ({where.name} {where.where}) is not there\n  next: {advice}")
    require_words(folder.project / name, name)


def live_needs_json(settings: CommonSettings) -> str:
    """Say that live output takes another format than the settings ask for."""
    source = settings.sources["output_format"]
    return f"{source.name} {source.where} is text; live output needs json, which is taken"


def open_driver(folder: Folder, settings: Settings, extra: Mapping[str, str], *, log: Path | None = None) -> Driver:
    """Load the driver that the settings name: the project's own.

    The shipped one of that name is for a project without drivers, and for whoever asks for one with an option.

    Args:
        folder: the loop's folder of the project.
        settings: of the project.
        extra: more globals, from ``--set``.
        log: the log of the loop that it is loaded for, or None.

    Raises:
        bridge.errors.UnknownDriver: the project has drivers, and none of that name.
        bridge.errors.BridgeError: it can't be loaded.
    """
    from bridge.driver import Driver

    name = settings.platform_driver
    own = resources.scripts_in(folder.drivers, without=resources.NOT_DRIVERS)
    source = settings.sources["platform_driver"]
    if own and name not in own and "/" not in name and source.kind != "option":
        places = ", ".join(folder.name_of(each) for each in folder.drivers)
        raise UnknownDriver(
            f"the driver {name} ({source.name} {source.where}) is not there: {folder.shown}/drivers/{name}.sh\n"
            f"  searched: {places}\n"
            f"  expected one of: {', '.join(own)}.{resources.likely(name, own)}\n"
            f"  next: correct the name, or get the driver back (`bmalph upgrade`)"
        )
    return Driver.load(
        settings.platform_driver,
        folders=folder.all_drivers,
        cwd=folder.project,
        settings={name: os_text(value) for name, value in {**settings.shell_globals(), **extra}.items()},
        log=log,
    )


def settings_of(extra: Mapping[str, str]) -> dict[str, GivenOption]:
    """What ``--set`` says of the tools that the agent may use, by either name: drivers read one of them only."""
    for name in ("CLAUDE_ALLOWED_TOOLS", "ALLOWED_TOOLS"):
        if name in extra:
            return {"allowed_tools": GivenOption(f"--set {name}", os_text(extra[name]))}
    return {}


def run_in_folder(
    tool: DriverTool, policy: FolderPolicy[S, O], store: FolderStore[S, O], state: S
) -> Generator[LoopEvent, None, None]:
    """Run the loop of a folder; see :func:`bridge.loop.runner.run_loop`."""
    from bridge.loop.runner import run_loop

    folder = store.folder
    return run_loop(
        tool, policy, store, store.loop, active=active_run(folder.path, folder.project, tool.name), state=state
    )


def asked_in_folder(asked: RunOptions, **more: Any) -> dict[str, Any]:
    """What both loops are asked whose files lie in ``.ralph``; `more` are further settings."""
    return {
        "options": options_of(
            prompt=asked.prompt,
            calls=asked.calls,
            retry_delay=asked.retry_delay,
            max_failures=asked.max_failures,
            resume=asked.resume,
            allowed_tools=asked.allowed_tools,
            **more,
        ),
        "extra": asked.globals,
        "live": asked.live,
        "max_iterations": asked.max_iterations,
        "max_seconds": asked.max_seconds,
        "caps": asked.caps,
        "timeout": asked.turn_seconds,
        "promise": asked.promise,
    }
