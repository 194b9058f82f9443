"""A frankbria project's loop, ready to run: settings checked, CLI found, what only the original does refused."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from bridge.base.process.argv import resolve as find_program
from bridge.base.process.table import ancestors, command_of, running_in
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError, ProjectBusy, ProjectCodeNotRun
from bridge.loop.sandbox.box_settings import users_word
from bridge.loop.setups.declared_settings import GivenOption
from bridge.loop.setups.dot_ralph.breaker import breaker_settings
from bridge.loop.setups.dot_ralph.controller import ControlledLoop
from bridge.loop.setups.dot_ralph.opening import (
    given_settings,
    live_needs_json,
    loop_settings,
    require_prompt,
    run_in_folder,
)
from bridge.loop.setups.frankbria import rc
from bridge.loop.setups.frankbria.commands import ClaudeCommands, about_settings, load_driver
from bridge.loop.setups.frankbria.differences import refuse
from bridge.loop.setups.frankbria.layout import missing_parts, read_plan, refuse_flat
from bridge.loop.setups.frankbria.policy import FrankbriaPolicy, FrankbriaState
from bridge.loop.setups.frankbria.providers import ProviderCommands, adapter_of, load_adapter
from bridge.loop.setups.frankbria.settings import KEYS, resolve
from bridge.loop.setups.frankbria.versions import installed_version, is_older
from bridge.loop.setups.unserved import DOCKER, asked_box
from bridge.loop.turn.driver import DriverTool
from bridge.scripts.provider import Provider
from bridge.shell import consent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.turn.driver import LoopDriver
    from bridge.loop.turn.tool import Command
    from bridge.scripts.driver import Driver

    Tell = Callable[[str], None]


NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class FrankbriaLoop(ControlledLoop):
    """A loop that may start.

    Attributes:
        name: what runs: ``claude``, ``driver codex`` or ``provider codex``. shown: the same for people.
        version: of claude, or '' where that isn't known.
    """

    settings: FrankbriaSettings
    name: str
    shown: str
    version: str = ""

    @property
    def live(self) -> bool:
        return self.settings.live

    @property
    def reader(self) -> ProviderCommands | None:
        """The provider adapter, which reads the answers, too."""
        return self.driver if isinstance(self.driver, ProviderCommands) else None

    @property
    def only_shown(self) -> bool:
        return self.settings.dry_run

    def begun(self) -> tuple[str, LoopSettings]:
        return self.shown, self.loop

    def context(self, *, resumed: bool) -> str:
        from bridge.loop.setups.frankbria.handler import context_of

        del resumed
        return context_of(FrankbriaState(), read_plan(self.folder.project, self.settings.optional_sections))

    def notes(self, command: Command) -> Sequence[str]:
        del command
        return (f"dry run: {self.shown} would be called, nothing is",)

    def events(
        self,
        on_log: Callable[[str, str], None] = lambda _level, _line: None,
        leaving: Callable[[], bool] = lambda: False,
    ) -> Generator[LoopEvent, None, None]:
        from bridge.loop.setups.frankbria.handler import FrankbriaHandler

        return run_in_folder(
            DriverTool(self.driver, self.loop, self.name),
            policy(self.settings, self.loop),
            FrankbriaHandler(
                self.folder,
                self.settings,
                self.loop,
                reader=self.reader,
                version=self.version,
                on_log=on_log,
                leaving=leaving,
            ),
            FrankbriaState(),
        )


def policy(settings: FrankbriaSettings, loop: LoopSettings) -> FrankbriaPolicy:
    return FrankbriaPolicy(
        limits=loop.limits,
        pauses=loop.pauses,
        breaker=replace(breaker_settings(settings), count_denials=True, output_decline=settings.output_decline),
        calls_per_hour=settings.max_calls_per_hour,
        halt_on_denial=True,
        tokens_per_hour=settings.max_tokens_per_hour,
        test_loops=settings.test_loops,
        done_signals=settings.done_signals,
    )


def ready(
    folder: Folder,
    options: RunOptions,
    env: Mapping[str, str],
    *,
    sandboxed: Mapping[str, str] = NOTHING,
    issues: bool = False,
) -> FrankbriaSettings:
    """Check everything that needs no CLI, and return the settings. Nothing is written.

    `issues`: the caller tells an issue that is asked for what becomes of it.

    Raises:
        ConfigurationError: settings or files that can't be used; says which.
        OriginalNeeded: what is asked for only the original does.
    """
    names = {name: key.field for key in KEYS for name in key.names}
    given = {
        names[name]: GivenOption(f"--set {name}", text) for name, text in options.globals.items() if name in names
    }
    settings = resolve(
        folder, env=env, rc=rc.read(folder.project, env), options={**given, **given_settings(options, KEYS)}
    )
    box = users_word(env, options.sandbox)
    refuse(settings, folder.project, env, sandboxed=[*sandboxed], driver=options.driver, box=box, issues=issues)
    _require_whole(folder)
    require_prompt(folder, settings, "write it")
    return settings


def _require_whole(folder: Folder) -> None:
    refuse_flat(folder.project, asked=True)
    if missing := missing_parts(folder.project):
        raise ConfigurationError(
            f"{folder.project} is no whole project: missing {', '.join(missing)}\n"
            "  next: bring them back from version control; `ralph-enable` adds them to an existing project,"
            " `ralph-setup` makes a new one, `ralph-import` makes one of a document"
        )


def busy(folder: Folder) -> None:
    """Refuse to be the second loop, where the first is the original, which has no lock."""
    for pid in set(running_in(folder.project, "ralph_loop.sh")) - ancestors():
        raise ProjectBusy(
            f"the original loop is running in {folder.project}: process {pid}\n  command: {command_of(pid)}\n"
            f"  next: wait for it, or end it: kill {pid}"
        )


@contextmanager
def open_loop(
    folder: Folder,
    options: RunOptions,
    tell: Tell,
    *,
    env: Mapping[str, str],
    sandboxed: Mapping[str, str] = NOTHING,
    issues: bool = False,
) -> Iterator[FrankbriaLoop]:
    """Check everything; a driver is loaded, and closed when the block ends. Nothing is started or written.

    Live output that is asked for doesn't take another format than the settings ask for; `sandboxed` are options
    of a sandbox that were given; `issues` as for :func:`ready`.

    Raises:
        bridge.errors.BridgeError: see :func:`ready`; the CLI is not there, the driver can't be loaded.
    """
    settings = ready(folder, options, env, sandboxed=sandboxed, issues=issues)
    busy(folder)
    notices = list(settings.notices)
    agents_env: Mapping[str, str] = {**env, **settings.exported}
    named = options.named("driver")
    adapter = adapter_of(named, settings, folder.project, env)
    live = settings.live or (options.live and settings.output_format == "json")
    said = {
        DOCKER[name]: value
        for name, value in sandboxed.items()
        if name in DOCKER and value != options.sandbox_network
    }
    asks = asked_box(folder.project, env, given={**options.settings, "SANDBOX_PROVIDER": settings.sandbox, **said})
    loop = loop_settings(
        folder,
        settings,
        options,
        env=agents_env,
        user=env,
        live=live,
        protected=(settings.shell_init_file, *_inside(folder.project, adapter)),
        asks=asks,
    )
    runs_in = "none" if loop.box is None else loop.box.name
    if settings.sandbox and settings.sandbox.strip().lower() != runs_in:
        where = "on this machine" if loop.box is None else f"in {runs_in}"
        notices.append(
            f"SANDBOX_PROVIDER={settings.sandbox} {settings.sources['sandbox'].where} is passed over: turns run"
            f" {where}, as their user wants"
        )
    if live and settings.output_format == "text":
        notices.append(live_needs_json(settings))

    def opened(driver: LoopDriver, name: str, shown: str, version: str = "") -> FrankbriaLoop:
        for line in notices:
            tell(line)
        known = replace(settings, notices=tuple(notices))
        return FrankbriaLoop(
            folder=folder, settings=known, loop=loop, driver=driver, name=name, shown=shown, version=version
        )

    if loop.box is None and not consent.looking():
        agents_env, wrong = rc.agents_environment(folder.project, settings.shell_init_file, settings.exported, env)
        notices += wrong
        loop = replace(loop, env=agents_env)
    elif settings.shell_init_file:
        why = "--dry-run runs no code of a project's" if loop.box is None else "turns run in a box"
        notices.append(f"RALPH_SHELL_INIT_FILE {settings.shell_init_file} is not sourced: {why}")
    ours = agents_env if loop.box is None else env  # of what runs out here
    if adapter is None and named is None:
        own = replace(settings, model="", effort="") if loop.model else settings  # the option comes before them
        claude = ClaudeCommands(own, folder.project, agents_env)
        find_program(claude.words, cwd=folder.project, env=agents_env)
        version = (
            ""
            if settings.dry_run
            else installed_version(claude.words, folder.project, ours, users=loop.box is not None)
        )
        if is_older(version, settings.claude_min_version):
            least = settings.claude_min_version
            notices.append(
                f"{settings.code_cmd} is {version}, older than CLAUDE_MIN_VERSION {least}; it may still do"
            )
        yield opened(claude, "claude", settings.code_cmd, version)
        return
    try:
        script = _script(adapter or named, folder, settings, options, ours, boxed=loop.box is not None)
    except ProjectCodeNotRun as error:
        error.shown = [*(f"note: {line}" for line in notices), *settings.lines()]
        raise
    with script:
        commands, kind, about = _commands(script, settings, folder, ours, boxed=loop.box is not None)
        notices += about
        shown = f"{script.display_name()} ({kind} {script.script})"
        yield opened(commands, f"{kind} {script.script.stem}", shown)


def _inside(project: Path, adapter: Path | None) -> tuple[str, ...]:
    """The adapter, seen from the project, where it lies there."""
    return () if adapter is None or not adapter.is_relative_to(project) else (str(adapter.relative_to(project)),)


def _commands(
    script: Driver | Provider, settings: FrankbriaSettings, folder: Folder, env: Mapping[str, str], *, boxed: bool
) -> tuple[LoopDriver, str, Iterable[str]]:
    """What builds the commands, what that is called, and what people should know of its settings."""
    if isinstance(script, Provider):
        commands = ProviderCommands(script, settings, folder.project, env)
        return commands, "provider", commands.about(boxed=boxed)
    return script, "driver", about_settings(settings, script)


def _script(
    asked: Path | str | None,
    folder: Folder,
    settings: FrankbriaSettings,
    options: RunOptions,
    env: Mapping[str, str],
    *,
    boxed: bool,
) -> Driver | Provider:
    """Load what runs the turns: a provider adapter is asked for by its path, as :func:`adapter_of` has it."""
    if isinstance(asked, str):
        return load_driver(asked, folder, settings, options.globals, env, boxed=boxed)
    assert asked is not None
    read = rc.read(folder.project, env)
    return load_adapter(asked, folder, settings, read, options.globals, env, boxed=boxed)
