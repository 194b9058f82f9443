"""What is asked of a run of either loop, and the run itself."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from bridge.base import resources
from bridge.base.resources import os_text
from bridge.errors import ConfigurationError, UnknownDriver
from bridge.loop.engine.caps import VARIABLES, Caps
from bridge.loop.engine.loop_settings import Night
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import Limits
from bridge.loop.engine.rotation import MAX_CONTEXT, bound_of
from bridge.loop.setups.asked import asked_settings
from bridge.loop.setups.box_options import box_of
from bridge.loop.setups.declared_settings import GivenOption, as_text
from bridge.loop.setups.dot_ralph.folder import own_files
from bridge.loop.setups.dot_ralph.folder import protected as protected_in
from bridge.loop.setups.further_tools import RESERVES
from bridge.loop.setups.options import OPTIONS
from bridge.loop.setups.projects import active_run, require_words

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from pathlib import Path

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.declared_settings import SettingKey
    from bridge.loop.setups.dot_ralph.common import CommonSettings
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.dot_ralph.handler import FolderHandler
    from bridge.loop.setups.dot_ralph.policy import FolderPolicy, FolderState
    from bridge.loop.setups.dot_ralph.settings import Settings
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.unserved import AskedBox
    from bridge.loop.turn.driver import DriverTool
    from bridge.scripts.driver import Driver

S = TypeVar("S", bound="FolderState")
O = TypeVar("O", bound=Outcome)  # noqa: E741


def given_settings(options: RunOptions, keys: Iterable[SettingKey]) -> dict[str, GivenOption]:
    """What the options of a run say about the settings of a kind, by field."""
    found = {key.field: (_flag(options, key.option), _text_of(options, key.option)) for key in keys if key.option}
    given = {field: GivenOption(flag, os_text(text)) for field, (flag, text) in found.items() if text is not None}
    return {**given, **options.given}


def _flag(options: RunOptions, name: str) -> str:
    """How an option is given on the command line."""
    positive, _, negative = OPTIONS[name].flag.partition("/")
    return negative if negative and getattr(options, name) is False else positive


def _text_of(options: RunOptions, name: str) -> str | None:
    """The text of an option as a settings file has it; None: nothing was asked."""
    value = getattr(options, name)
    if value is None or (name == "live" and value):
        return None
    if name == "driver":
        return options.named("driver")
    return as_text(math.ceil(value) if name == "timeout" else value)  # settings know whole minutes


def loop_settings(
    folder: Folder,
    settings: CommonSettings,
    options: RunOptions,
    *,
    env: Mapping[str, str],
    live: bool,
    user: Mapping[str, str] | None = None,
    protected: Iterable[str] = (),
    asks: AskedBox | None = None,
) -> LoopSettings:
    """`env` is the agent's, `user` that of this process, by which a box is decided; None: the same.

    `protected` and `asks`: see :func:`bridge.loop.setups.box_options.box_of`.
    """
    if not folder.path.is_relative_to(folder.project):  # RALPH_DIR: the prompt and the plan lie there
        options = replace(options, sandbox_write=(*options.sandbox_write, str(folder.path)))
    user = env if user is None else user
    wanted = Night(
        retry_seconds=settings.retry_seconds,
        retry_max_seconds=settings.retry_max_seconds,
        limit_seconds=settings.limit_wait_seconds,
        grace_seconds=settings.kill_grace_seconds,
        answered_seconds=settings.answered_seconds,
        absent_seconds=settings.absent_seconds,
        turn_log_mb=settings.turn_log_mb,
    )
    asked = asked_settings(
        folder.project,
        settings.prompt_file,
        options,
        wanted,
        files=own_files(folder),
        box=box_of(
            folder.project, options, (*protected_in(folder), settings.prompt_file, *protected), env=user, asks=asks
        ),
        env=user,
        timeout=settings.timeout,
        caps=Caps(**{name: getattr(settings, name) for name in VARIABLES}),
        reserves={name: (getattr(settings, name), settings.sources[name].where) for name in RESERVES},
    )
    found = replace(
        asked,
        limits=Limits(options.max_iterations, settings.retry_limit, options.max_seconds),
        pauses=replace(wanted.pauses, between=settings.pause_seconds),
        live=live,
        promise=options.promise,
        resume=settings.session_continuity,
        env=env,
        poll_seconds=settings.poll_seconds,
        max_context=bound_of(
            options.max_context, {MAX_CONTEXT: settings.max_context}, settings.sources["max_context"].where
        ),
    )
    where = settings.sources["prompt_file"]
    inside = os.path.realpath(folder.project / settings.prompt_file).startswith(f"{folder.project.resolve()}/")
    if found.box is not None and where.kind == "file" and not inside:
        raise ConfigurationError(
            f"the prompt {settings.prompt_file} ({where.name} {where.where}) lies outside of the project, whose"
            " turns run in a box\n  next: put it into the project, or name it yourself with --prompt"
        )
    return found


def require_prompt(folder: Folder, settings: CommonSettings, advice: str) -> None:
    """Refuse to start without a prompt, or with an empty one; `advice` is the next step."""
    name = settings.prompt_file
    if not (folder.project / name).is_file():
        where = settings.sources["prompt_file"]
        raise ConfigurationError(f"the prompt {name} ({where.name} {where.where}) is not there\n  next: {advice}")
    require_words(folder.project / name, name)


def live_needs_json(settings: CommonSettings) -> str:
    source = settings.sources["output_format"]
    return f"{source.name} {source.where} is text; live output needs json, which is taken"


def open_driver(
    folder: Folder, settings: Settings, extra: Mapping[str, str], *, log: Path | None = None, boxed: bool = False
) -> Driver:
    """Load the driver that the settings name: the project's own.

    The shipped one of that name is for a project without drivers, and for whoever asks for one with an option.
    `log` is the log of the loop that it is loaded for; `boxed`: see :meth:`bridge.scripts.driver.Driver.load`.
    """
    from bridge.scripts.driver import Driver

    name = settings.platform_driver
    own = resources.scripts_in("driver", folder.drivers)
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
        boxed=boxed,
    )


def settings_of(extra: Mapping[str, str]) -> dict[str, GivenOption]:
    """What ``--set`` says of the tools that the agent may use, by either name: drivers read one of them only."""
    for name in ("CLAUDE_ALLOWED_TOOLS", "ALLOWED_TOOLS"):
        if name in extra:
            return {"allowed_tools": GivenOption(f"--set {name}", os_text(extra[name]))}
    return {}


def run_in_folder(
    tool: DriverTool, policy: FolderPolicy[S, O], handler: FolderHandler[S, O], state: S
) -> Generator[LoopEvent, None, None]:
    from bridge.loop.engine.runner import run_loop

    folder = handler.folder
    return run_loop(
        tool, policy, handler, handler.loop, active=active_run(folder.path, folder.project, tool.name), state=state
    )
