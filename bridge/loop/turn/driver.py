"""A driver's CLI as a tool: its hooks build the command, the program runs, its events are shown as they come."""

from __future__ import annotations

import os
import shlex
import stat
import time
from contextlib import nullcontext, suppress
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bridge.base.git.immune import path_outside
from bridge.base.process.argv import check_sizes, os_arguments, resolve
from bridge.base.process.leftovers import MARK
from bridge.base.process.program import Program
from bridge.errors import (
    BridgeError,
    HookError,
    ProgramNotFound,
    ProgramNotStarted,
)
from bridge.loop.turn.language_model import with_model
from bridge.loop.turn.logs import TurnLog
from bridge.loop.turn.progress import last_sentence, may_name_tool, tool_in
from bridge.loop.turn.tool import (
    Command,
    Notice,
    OutputText,
    RunProgress,
    TurnResult,
    first_line,
    not_started,
    stderr_tail,
)
from bridge.loop.turn.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.loop.sandbox.boxed import Boxed
    from bridge.loop.turn.tool import Event, TurnRequest, TurnSettings
    from bridge.scripts.stream.display import LiveFilter

    Show = Callable[[bytes, float], bytes | None]

_SLOWEST_LINE = 10.0  # s: that the live filter may take for a line
_SLOWEST_LAST = 1.0  # s: the same for those that it prints once its time is up
_LAST_LINE = 400
_LAST_TEXT = 4096


class LoopDriver(Protocol):
    """What the loop needs of a :class:`bridge.Driver`."""

    def build_command(self, prompt_file: str, loop_context: str = "", session_id: str = "") -> list[str]: ...

    def prepare_live_command(self) -> list[str]: ...

    def supports_sessions(self) -> bool: ...

    def supports_live_output(self) -> bool: ...

    def stream_filter(self) -> str: ...

    def recover_session_id(self, output_file: str) -> str | None: ...

    def set(self, name: str, value: str) -> object: ...


@runtime_checkable
class _OnStdin(Protocol):
    """A driver that knows of prompts on stdin; others give every prompt as an argument."""

    def offer_stdin(self, when: str = "auto") -> None: ...

    def command_stdin(self) -> str: ...


@runtime_checkable
class _Advising(Protocol):
    """A driver that knows what to do about refused tools."""

    def permission_denial_help(self) -> str: ...


def build_command(
    driver: LoopDriver, settings: TurnSettings, prompt: str, *, context: str = "", session: str | None = None
) -> Command:
    """Let a driver build the command of one turn.

    Args:
        prompt: the prompt file, as the driver gets to see it.
        context: all that the agent is told beside its prompt; reviews and warnings too, since drivers know no
            other place for it (an option behind the prompt is refused by most CLIs, trap T8).
        session: the session to resume, or None.

    Raises:
        bridge.errors.HookError: a hook of the driver failed, or left no command.
        bridge.errors.ConfigurationError: its CLI can't be told the model.
    """
    live = settings.live and driver.supports_live_output()
    driver.set("CLAUDE_USE_CONTINUE", "true" if settings.resume else "false")
    if live:
        # The live transform adds options that the CLI only accepts together with JSON output.
        driver.set("CLAUDE_OUTPUT_FORMAT", "json")
    stdin = note = ""
    if isinstance(driver, _OnStdin):
        driver.offer_stdin("true" if settings.stdin else "auto")
    argv = driver.build_command(prompt, context, session or "")
    hook = "driver_build_command left CLAUDE_CMD_ARGS"
    if live and argv:
        argv = driver.prepare_live_command()
        hook = "driver_prepare_live_command left LIVE_CMD_ARGS"
    if not argv:
        what = f"there is no command to run: {hook} empty"
        raise HookError(what, hook=hook.split(" ", 1)[0], script=str(getattr(driver, "script", "")))
    if isinstance(driver, _OnStdin):
        stdin = driver.command_stdin()
    if settings.model:
        argv, note = with_model(argv, settings.model)
    words = stdin.encode("utf-8", "surrogateescape") if stdin else None
    return Command(os_arguments(argv), words, live, note=note)


def in_box(command: Command, settings: TurnSettings, env: Mapping[str, str] | None = None) -> Boxed | None:
    """The command of one turn in the box of these settings; None: there is none.

    `env` is the turn's environment; None: that of the settings.

    Raises:
        ProgramNotFound, ProgramNotStarted: it isn't there, or can't be executed.
        ConfigurationError: what is to be let in isn't there.
    """
    if settings.box is None:
        return None
    env = settings.environment if env is None else env
    argv = command.argv if settings.box.has_programs else resolve(command.argv, cwd=settings.project, env=env)
    return settings.box.command(argv, env)


class DriverTool:
    """Runs a driver's CLI. Its first turn shows that the driver and the CLI work at all: what fails then is raised;
    what worked before and fails later is a failed turn, no more.

    Args:
        driver: builds the commands.
        name: such as ``driver codex``; the model that is asked for stands behind it.
    """

    def __init__(self, driver: LoopDriver, settings: TurnSettings, name: str = "driver") -> None:
        self.driver = driver
        self.name = f"{name}@{settings.model}" if settings.model else name
        self._settings = settings
        self._filter_fails = self._noted = False
        if (path := path_out_here(settings)) != settings.environment.get("PATH", os.defpath):
            driver.set("PATH", path)

    def supports_sessions(self) -> bool:
        return self.driver.supports_sessions()

    def recover_session_id(self, output_file: str) -> str | None:
        return self.driver.recover_session_id(output_file)

    def denial_help(self) -> str:
        """Give the driver's advice about refused tools; what it printed counts, whatever became of the hook."""
        if not isinstance(self.driver, _Advising):
            return ""
        try:
            return self.driver.permission_denial_help().rstrip("\n")
        except HookError as error:
            return error.stdout.rstrip("\n")

    def prepare(self, request: TurnRequest) -> Command:
        """Let the driver build the command, and find out what the system would refuse to start.

        Raises:
            bridge.errors.HookError, ProgramNotFound, ProgramNotStarted: in the first turn; later the command is
                broken.
            bridge.errors.ArgumentTooLong, ConfigurationError: see :func:`run_turn`.
        """
        settings, command = self._settings, Command(("its program",))
        try:
            if settings.box is not None:
                settings.box.admit(request.prompt)
            context = "\n\n".join(filter(None, (request.context, request.added)))
            command = build_command(self.driver, settings, request.prompt, context=context, session=request.session)
            env = settings.environment
            if settings.box is None or not settings.box.has_programs:
                check_sizes(resolve(command.argv, cwd=settings.project, env=env), env)
        except (HookError, ProgramNotFound, ProgramNotStarted) as error:
            if request.first:
                if isinstance(error, HookError):
                    raise self._unusable(error, request) from None
                raise
            # The CLI was there before, and may be again: CLIs replace themselves when they update.
            if isinstance(error, HookError):
                return Command(broken=str(error))
            return Command(broken=first_line(error), absent=os.path.basename(command.argv[0]))
        return command

    def _unusable(self, error: HookError, request: TurnRequest) -> HookError:
        """A driver that can't do its work here is an environment that isn't ready: no repetition mends it."""
        error.exit_code = ProgramNotFound.exit_code
        if error.script:
            by_hand = shlex.join(["ralph-bridge", "command", error.script, request.prompt])
            error.hint = f"try it by hand: {by_hand}"
        return error

    def try_model(self) -> None:
        """See whether the CLI can be told its model; what else is wrong is the first turn's to tell.

        Raises:
            bridge.errors.ConfigurationError: it can't.
        """
        with suppress(HookError), NamedTemporaryFile(prefix="ralph-bridge-") as prompt:
            build_command(self.driver, self._settings, prompt.name)

    def run(self, command: Command, request: TurnRequest) -> Generator[Event, None, TurnResult]:
        """Run the command, and let go of nothing until its whole process group has ended.

        Raises:
            bridge.errors.ProgramNotFound, ProgramNotStarted: in the first turn.
            bridge.errors.BridgeError: a file can't be written, the process doesn't end.
        """
        live = None
        if command.note and not self._noted:
            self._noted = True
            yield Notice(command.note)
        if command.live and not self._filter_fails:
            live = yield from live_filter(self.driver.stream_filter, self._settings)
        show = (live.show if live else lambda _line, _seconds: b"") if command.live else None
        running = _Running(self._settings, request, show).run(command)
        try:
            return (yield from running)
        except (ProgramNotFound, ProgramNotStarted) as error:
            if request.first:
                raise
            return not_started(first_line(error))
        finally:
            running.close()
            self._filter_fails = command.live and (live is None or live.gave_up)
            if live is not None:
                live.close()


class _Running:
    """One run of a command.

    Args:
        show: turns a line of a live run into text, given the seconds that it may take, after which it is None;
            None: not live.
    """

    def __init__(self, settings: TurnSettings, request: TurnRequest, show: Show | None) -> None:
        self._settings = settings
        self._request = request
        self._show = show
        self._shown = self._idle = False
        self._last = self._tool = b""
        self._result: bytes | None = None
        self._ticks = 0

    def run(self, command: Command) -> Generator[Event, None, TurnResult]:
        from bridge.scripts.stream.analysis import Analyzer
        from bridge.scripts.stream.echo import Echo

        settings, request = self._settings, self._request
        analyzer = Analyzer()
        echo = Echo([*map(os.fsencode, command.argv[1:]), command.stdin or b""], analyzer.feed)
        logs = request.logs
        assert logs.stderr is not None
        argv, env = command.argv, {**settings.environment, **request.exports()}
        standing: AbstractContextManager[None] = nullcontext()
        if (boxed := in_box(command, settings, env)) is not None:
            argv, env, standing = boxed.argv, dict(boxed.env), boxed.standing()
        with (
            standing,
            TurnLog(logs.output, settings.turn_log_bytes) as raw,  # before the program, which may remove the folder
            TurnLog(logs.stderr, settings.turn_log_bytes) as errors,
            Program(
                argv,
                cwd=settings.project,
                env=env,
                stderr_path=logs.stderr,
                timeout=request.timeout,
                graces=settings.graces,
                stdin=command.stdin,
            ) as program,
        ):
            request.on_start(program.pid)
            writes = self._writes()
            every = min(settings.poll_seconds, writes.tick if writes else settings.poll_seconds)
            watched = Watched(program, analyzer, settings, every=every)
            self._began = reported = watched.began
            for line in watched.lines():
                if line:
                    raw.write(line)
                    echo.feed(line)
                    if request.on_line is not None:
                        request.on_line(line)
                    yield from self._take(line)
                    continue
                if (now := time.monotonic()) - reported >= settings.poll_seconds:
                    reported = now
                    errors.bound()
                    yield self._progress()
                if writes is not None and writes.missed():
                    self._idle = True
                    program.end()
            errors.bound()
            echo.end()
            yield from map(Notice, filter(None, (raw.notice, errors.notice)))
        request.on_start(None)
        return watched.result(
            idle=self._idle, stderr=stderr_tail(logs.stderr), result=self._result, shown=self._shown
        )

    def _writes(self) -> Writes | None:
        settings = self._settings
        if settings.write_timeout is None:
            return None
        return Writes(settings.project, timeout=settings.write_timeout, every=settings.heartbeat_seconds)

    def _take(self, line: bytes) -> Generator[Event, None, None]:
        if may_name_tool(line):
            self._tool = line
        if self._show is None:
            self._last = line
            self._request.on_output(line)
            return
        if b'"result"' in line and _is_result(line):
            self._result = line
        left = (
            float("inf")
            if self._request.timeout is None
            else self._began + self._request.timeout - time.monotonic()
        )
        patience = min(_SLOWEST_LINE, max(left, _SLOWEST_LAST))
        text = self._show(line, patience)
        if text is None:
            yield Notice(
                f"the driver's stream filter was ended: a line took longer than {patience:.3g} s;"
                " output comes at the end of a run"
            )
        elif text:
            self._shown = True
            self._last = (self._last + text)[-_LAST_TEXT:]
            self._request.on_output(text)
            yield OutputText(self._request.number, text.decode("utf-8", "replace"))

    def _progress(self) -> RunProgress:
        last = self._last.rstrip(b"\r\n").rpartition(b"\n")[2].decode("utf-8", "replace")
        last = (last if self._show is None else last_sentence(self._last.decode("utf-8", "replace")))[:_LAST_LINE]
        tool = tool_in(self._tool) if self._tool else ""
        self._ticks += 1
        return RunProgress(self._request.number, time.monotonic() - self._began, last, tool, self._ticks - 1)


def path_out_here(settings: TurnSettings) -> str:
    """PATH of what runs beside a box: it leads to no program that a turn may have written, such as a jq."""
    env = settings.environment
    path = env.get("PATH", os.defpath)
    return path if settings.box is None else path_outside(env, settings.project) or os.defpath


def live_filter(program: Callable[[], str], settings: TurnSettings) -> Generator[Event, None, LiveFilter | None]:
    """Make the driver's stream filter usable; without it, output comes at the end of a run.

    A line that the filter chokes on costs itself, nothing more (trap T13).
    """
    from bridge.scripts.stream.display import LiveFilter

    env = {name: value for name, value in settings.environment.items() if name != MARK}
    env["PATH"] = path_out_here(settings)
    try:
        return LiveFilter(program(), env=env, cwd=settings.project)
    except (ValueError, BridgeError) as error:
        yield Notice(f"the driver's stream filter is not usable, output comes at the end of a run: {error}")
        return None


def _is_result(line: bytes) -> bool:
    import json

    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(event, dict) and event.get("type") == "result"


PRUNED = (".ralph", ".git", "node_modules", ".next", "dist", "build", "__pycache__", ".turbo")
"""Folders at the top of the project in which a write is none."""

_CLOCK_LAG = 20_000_000
"""Nanoseconds by which the file system's clock may be behind ours."""


def wrote_since(project: Path, since_ns: int) -> bool:
    """Say whether a regular file of the project was modified at or after a time.

    Args:
        project: the folder to search; folders of `PRUNED` at its top are left out.
        since_ns: nanoseconds since the epoch.
    """
    top = str(project)
    folders = [top]
    while folders:
        folder = folders.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if folder == top and entry.name in PRUNED:
                    continue
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        continue
                    seen = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(seen.st_mode) and seen.st_mtime_ns >= since_ns:
                        return True
    return False


class Writes:
    """Watches one run. The first written file disarms it for the rest of the run.

    Args:
        project: where files are written.
        timeout: seconds within which the first one has to be.
        every: seconds between two looks.
    """

    def __init__(self, project: Path, *, timeout: float, every: float) -> None:
        self.timeout = timeout
        self._project = project
        self._every = every
        self._since = time.time_ns() - _CLOCK_LAG
        self._began = self._looked = time.monotonic()
        self._armed = True

    @property
    def tick(self) -> float:
        """Seconds after which :meth:`missed` wants to be asked again."""
        return max(0.01, min(self._every, self.timeout))

    def missed(self) -> bool:
        """Say whether the time is up and nothing was written. Looks as often as it should, however often asked."""
        now = time.monotonic()
        late = now - self._began >= self.timeout
        if not self._armed or not (late or now - self._looked >= self._every):
            return False
        self._looked = now
        if wrote_since(self._project, self._since):
            self._armed = False
            return False
        return late
