"""A call of a script's as a turn: the CLI runs with the words, folder, environment and stdin of the call."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bridge.base.files import descriptor, open_file
from bridge.base.process.argv import check_sizes, os_arguments
from bridge.base.process.leftovers import MARK, SCRIPT_MARK
from bridge.base.process.program import Program
from bridge.errors import ConfigurationError, ProgramNotFound, ProgramNotStarted
from bridge.loop.setups.script.call_input import CHUNK, feed, lent, position_of, read_all
from bridge.loop.setups.script.call_output import Relay, asked_for_events, text_of
from bridge.loop.turn.language_model import with_model
from bridge.loop.turn.logs import TurnLog
from bridge.loop.turn.tool import NOT_STARTED, Command, Notice, RunProgress, first_line, not_started, stderr_tail
from bridge.loop.turn.watched import Watched
from bridge.scripts.stream.analysis import Analyzer, RunFacts, analyze_file
from bridge.scripts.stream.analysis.permanent import may_pass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.script.server import Call
    from bridge.loop.turn.tool import Event, TurnRequest, TurnResult

_TICK = 0.02


class Running:
    """The CLI of a call, in a thread of its own, so that calls that come side by side run so.

    Args:
        call: the script's.
        output, errors: the logs.
        timeout: seconds that it may take, or None.
        added: words for the prompt, or ''.
        exports: gives further variables, once the turn has begun.
        notify: called when it has ended.
    """

    def __init__(
        self,
        call: Call,
        settings: LoopSettings,
        output: Path,
        errors: Path,
        *,
        timeout: float | None = None,
        added: str = "",
        exports: Callable[[], Mapping[str, str]] = dict,
        notify: Callable[[], None] = lambda: None,
    ) -> None:
        self._thread = threading.Thread(target=self._work, name=f"turn {call.number}", daemon=True)
        self.call = call
        self.settings = settings
        self.output, self.errors = output, errors
        self.relay = Relay(call, self._is_stopped)
        self.began = time.monotonic()
        self.lines: deque[bytes] = deque()
        self.result: TurnResult | None = None
        self.beside = False
        """It has begun while another one is the loop's turn: what it comes to is looked at later."""
        self.error: BaseException | None = None
        self._unstarted = b""
        """Why it could not be started."""
        self.note = ""
        """What is to be said of the model that was asked for."""
        self._timeout, self._added, self._exports = timeout, added, exports
        self._notify = notify
        self._ending = threading.Event()
        self._as_events = self._signalled = False
        self._feeding: int | None = None
        """Our copy of what the CLI reads from, until the CLI has it."""
        self._feed: threading.Thread | None = None
        self._fed_enough = threading.Event()

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        if self.is_alive():
            self._ending.set()
            self._thread.join()

    def _is_stopped(self) -> bool:
        return self._ending.is_set() or self.call.gone

    def start(self) -> None:
        """Begin, unless it has begun beside another."""
        if self._thread.ident is None:
            self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most so long."""
        self._thread.join(seconds)

    def _work(self) -> None:
        try:
            try:
                self.result = self._run()
            except (ProgramNotFound, ProgramNotStarted) as error:
                self.result = not_started(first_line(error))
                self._unstarted = f"{first_line(error)}\n".encode("utf-8", "replace")
            finally:
                self._end_feed()
            if self.beside and self._is_for_the_script():
                self.answer()
        except BaseException as error:  # noqa: BLE001 - the loop raises it
            self.error = error
        finally:
            self._notify()

    def answer(self, status: int | None = None) -> None:
        """Give the script what it has printed, and its status; None: as the CLI has ended."""
        assert self.result is not None
        status = self.result.status if status is None else status
        self.relay.put(2, self._unstarted)
        self.relay.release()
        self.call.end(-signal.SIGPIPE if self.relay.broken and status == 0 else status)

    def _is_for_the_script(self) -> bool:
        """Whether a loop would neither make this call again nor end because of it, so that nobody has to wait for
        the turn in front: it may be that it is this one's output which that is waiting for.
        """
        if self.result is None or self.call.gone or self.result.timed_out or self.result.status == NOT_STARTED:
            return False
        facts = RunFacts(now=datetime.now().astimezone(), exit_status=self.result.status, stderr=self.result.stderr)
        found = analyze_file(self.output, facts)
        return found.limit is None and found.permanent is None and not may_pass(found.error or "")

    def _run(self) -> TurnResult:
        settings, self._analyzer = self.settings, Analyzer()
        argv, stdin = self._given()
        if settings.model:
            argv = self._with_model(argv)
        if self._counts() and (events := asked_for_events(self.call)):
            self._as_events = True
            argv = [*argv[: self.call.form.at], *events, *argv[self.call.form.at :]]
        argv, env, cwd, standing = self._placed(argv)
        request, boxed = self.call.request, settings.box is not None
        merged = _same(request.fds[1], request.fds[2])
        if boxed:
            request = request.for_a_box()
        if not merged:
            os.close(
                descriptor(self.errors, os.O_WRONLY | os.O_CREAT)
            )  # to be open before the CLI can take it away
        with (
            standing,
            lent(stdin) if boxed and isinstance(stdin, int) else nullcontext(stdin) as given,
            TurnLog(self.output, settings.turn_log_bytes) as raw,
            nullcontext() if merged else open_file(self.errors, buffering=0) as errors,
            Program(
                os_arguments(argv),
                cwd=cwd,
                env=env,
                stderr_path=None if merged else self.errors,
                timeout=self._timeout,
                graces=settings.graces,
                stdin=given,
                inherited=request.inherited,
                open_beside=bool(request.further),
            ) as program,
        ):
            self._let_go()
            watched = Watched(program, self._analyzer, settings, every=_TICK)
            for line in watched.lines():
                if line:
                    raw.write(line)
                    self._take(line, completed=watched.completed)
                    continue
                if errors is not None:
                    self.relay.put(2, errors.read(CHUNK))
                self._tend(program)
            while errors is not None and (data := errors.read(CHUNK)):
                self.relay.put(2, data)
        return watched.result(stderr=b"" if merged else stderr_tail(self.errors), shown=True)

    def _with_model(self, argv: list[str]) -> list[str]:
        """Have the call's CLI use the model that is asked for, where the call names none and the CLI takes one."""
        form = self.call.form
        try:
            own = [form.cli.programs[0], *argv[form.at :]]
            [_, *words], self.note = with_model(own, self.settings.model)
        except ConfigurationError as error:
            self.note = first_line(error)
            return argv
        return [*argv[: form.at], *words]

    def _placed(self, argv: list[str]) -> tuple[list[str], dict[str, str], str, AbstractContextManager[None]]:
        """Say what is started, with which environment, where, and what has to stand meanwhile."""
        request, settings = self.call.request, self.settings
        project = os.fspath(settings.project)
        env = {"PATH": os.defpath, **request.environment(settings.environment), MARK: project, **self._exports()}
        env.pop(SCRIPT_MARK, None)
        cwd = request.cwd or project
        check_sizes(argv, env)
        if settings.box is None:
            return argv, env, cwd, nullcontext()
        words = argv
        if os.path.realpath(cwd) != os.path.realpath(project):
            words = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', cwd, *argv]
        boxed = settings.box.command(words, env, also=(argv[0],))
        return [*boxed.argv], dict(boxed.env), project, boxed.standing()

    def _take(self, line: bytes, *, completed: bool) -> None:
        self._analyzer.feed(line)
        line = line[:-1] if completed else line  # the script gets it when it is printed
        self.lines.append(line)
        if self._analyzer.closings:
            self.relay.hold()
        self.relay.put(1, text_of(line) if self._as_events else line)

    def _let_go(self) -> None:
        if self._feeding is not None:
            os.close(self._feeding)
            self._feeding = None

    def _counts(self) -> bool:
        """Whether what the CLI says of tokens and money is needed."""
        caps = self.settings.caps
        return caps.max_cost is not None or caps.max_tokens is not None or caps.tokens_per_hour is not None

    def _tend(self, program: Program) -> None:
        """See to what has happened around it meanwhile."""
        self.relay.look()
        if self.relay.broken and not self._signalled:
            self._signalled = True
            self._send(program, signal.SIGPIPE)
        for number in self.call.signals():
            self._send(program, number)
        if self._is_stopped():
            program.end(interrupt=False)

    def _send(self, program: Program, number: int) -> None:
        with suppress(OSError):
            if self.settings.box is None:
                os.kill(program.pid, number)
            else:
                os.killpg(program.pid, number)

    # -- what it is given ----------------------------------------------------------------------------

    def _given(self) -> tuple[list[str], bytes | int | None]:
        """Give its words and its stdin, with what is to be added to the prompt."""
        call, added = self.call, self._added
        argv = [*call.argv]
        fd = call.request.fds[0]
        form = call.form
        if fd is not None and (place := position_of(fd)) is not None:
            if call.place is None:
                call.place = place
            else:  # another attempt
                os.lseek(fd, call.place, os.SEEK_SET)
        if form.prompt is not None and not form.file:
            if added:
                argv[form.prompt] += f"\n\n{added}"
            return argv, self._fed(fd) if fd is not None and call.has_own_stdin else fd
        if fd is None or os.isatty(fd) or form.file:
            return argv, fd
        if call.stdin is None and (added or call.place is None):
            call.stdin = read_all(fd, self._is_stopped)
        if call.stdin is None:
            return argv, fd
        return argv, call.stdin + (f"\n\n{added}\n".encode() if added else b"")

    def _fed(self, fd: int) -> int:
        """Give a pipe with what the script writes into another one, of which each attempt gets all."""
        self._feeding, end = os.pipe()
        self._feed = threading.Thread(target=feed, args=(self.call, fd, end, self._fed_enough), name="stdin")
        self._feed.daemon = True
        self._feed.start()
        return self._feeding

    def _end_feed(self) -> None:
        self._let_go()
        self._fed_enough.set()
        if self._feed is not None:
            self._feed.join()


class CallTool:
    """Runs the calls of a script; see :class:`bridge.loop.turn.tool.Tool`.

    Args:
        name: of the tool, for records.
        running: gives what was begun for the call of a turn.
        poll_seconds: how often progress is told.
        shown: the script itself prints, for people, what it makes of the answers.
    """

    def __init__(
        self, name: str, running: Callable[[TurnRequest], Running], poll_seconds: float, *, shown: bool = True
    ) -> None:
        self.name = name
        self._shown = shown
        self._running = running
        self._poll = poll_seconds
        self._now: Running | None = None
        self._noted: set[str] = set()

    def supports_sessions(self) -> bool:
        return False

    def try_model(self) -> None:
        return

    def recover_session_id(self, output_file: str) -> str | None:  # noqa: ARG002
        return None

    def denial_help(self) -> str:
        return ""

    def prepare(self, request: TurnRequest) -> Command:
        self._now = running = self._running(request)
        call = running.call
        return Command((call.form.cli.programs[0], *call.argv[call.form.at :]))

    def run(self, command: Command, request: TurnRequest) -> Generator[Event, None, TurnResult]:  # noqa: ARG002
        running, count, told = self._now, 0, time.monotonic()
        assert running is not None
        last = b""
        running.start()
        try:
            while running.is_alive() or running.lines:
                running.wait(0.5 if not running.lines else 0)
                last = _hand_on(running, request) or last
                if time.monotonic() - told >= self._poll:
                    told = time.monotonic()
                    shown = last.rstrip(b"\r\n")[-400:].decode("utf-8", "replace")
                    yield RunProgress(request.number, told - running.began, shown, "", count)
                    count += 1
        finally:
            running.stop()
        if running.note and running.note not in self._noted:
            self._noted.add(running.note)
            yield Notice(running.note)
        if running.error is not None:
            raise running.error
        assert running.result is not None
        return replace(running.result, shown=self._shown)


def _hand_on(running: Running, request: TurnRequest) -> bytes:
    last = b""
    while running.lines:
        last = running.lines.popleft()
        request.on_output(last)
        if request.on_line is not None:
            request.on_line(last)
    return last


def _same(one: int | None, other: int | None) -> bool:
    """Whether two descriptors lead to the same file, so that what goes to them has one order."""
    return one is not None and other is not None and os.path.sameopenfile(one, other)
