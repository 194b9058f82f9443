"""The loop itself, thin: it runs what the driver builds, and asks :mod:`bridge.loop.decide` what next."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from bridge.errors import BridgeError, ConfigurationError, ProgramTimeout
from bridge.loop.decide import Decision, Limits, Outcome, State, Verdict, begin, decide, failure_of
from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, LoopEvent, Notice, OutputText
from bridge.loop.plan import Plan, loop_context
from bridge.loop.process import Program
from bridge.loop.state import ProjectFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

    from bridge.stream.events import Answer

__all__ = ["LoopDriver", "LoopSettings", "prepare_command", "run_loop"]


class LoopDriver(Protocol):
    """What the loop needs of a :class:`bridge.Driver`."""

    def build_command(self, prompt_file: str, loop_context: str = "", session_id: str = "") -> list[str]:
        """Return the command for one run."""

    def prepare_live_command(self) -> list[str]:
        """Return the live form of the command that was built last."""

    def supports_sessions(self) -> bool:
        """Say whether runs can be resumed."""

    def supports_live_output(self) -> bool:
        """Say whether events come while the CLI runs."""

    def stream_filter(self) -> str:
        """Return the jq program that turns events into text."""

    def recover_session_id(self, output_file: str) -> str | None:
        """Return the session id in a run's output."""

    def set(self, name: str, value: str) -> object:
        """Set a global of the script."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """How to run a loop.

    Attributes:
        project: the project's folder; the CLI runs in it.
        prompt: the prompt file, as the driver gets to see it.
        limits: when to give up.
        live: show events as they come, where the driver can.
        promise: the completion promise to look for, or None.
        timeout: seconds that one run may take, or None.
        resume: resume the session of the run before.
        env: environment of the CLI; None for this process's own.
    """

    project: Path
    prompt: str = ".ralph/PROMPT.md"
    limits: Limits = field(default_factory=Limits)
    live: bool = True
    promise: str | None = None
    timeout: float | None = None
    resume: bool = True
    env: Mapping[str, str] | None = None


def prepare_command(
    driver: LoopDriver, settings: LoopSettings, *, iteration: int, plan: Plan | None, session_id: str | None
) -> tuple[list[str], bool]:
    """Build the command of one iteration; return it, and whether it is the live form.

    Raises:
        bridge.errors.HookError: a hook of the driver failed.
        ConfigurationError: it built no command.
    """
    live = settings.live and driver.supports_live_output()
    driver.set("CLAUDE_USE_CONTINUE", "true" if settings.resume else "false")
    if live:
        # The live transform adds options that the CLI only accepts together with JSON output.
        driver.set("CLAUDE_OUTPUT_FORMAT", "json")
    context = loop_context(iteration, plan, resumed=session_id is not None)
    command = driver.build_command(settings.prompt, context, session_id or "")
    if live:
        command = driver.prepare_live_command()
    if not command:
        hook = (
            "driver_prepare_live_command left LIVE_CMD_ARGS"
            if live
            else "driver_build_command left CLAUDE_CMD_ARGS"
        )
        raise ConfigurationError(f"there is no command to run: {hook} empty")
    # Drivers speak UTF-8; what the system passes on is whatever the locale says. The bytes stay the same.
    return [os.fsdecode(argument.encode("utf-8", "surrogateescape")) for argument in command], live


def run_loop(driver: LoopDriver, settings: LoopSettings) -> Generator[LoopEvent, None, None]:
    """Run the loop to its end, yielding what happens; the last event is a :class:`LoopEnded`.

    Close the generator (``contextlib.closing``) when you leave early: that ends the CLI's process group.

    Raises:
        bridge.errors.HookError: a hook of the driver failed.
        ProgramNotFound, ProgramNotStarted, ArgumentTooLong: the CLI can't be started.
    """
    return _Loop(driver, settings).run()


class _Loop:
    def __init__(self, driver: LoopDriver, settings: LoopSettings) -> None:
        self.driver = driver
        self.settings = settings
        self.files = ProjectFiles(settings.project)
        self.state = State()
        self.sessions = False

    def run(self) -> Generator[LoopEvent, None, None]:
        started = time.monotonic()
        self.files.prepare()
        try:
            yield from self._load_session()
            decision = begin(self.state, self.files.read_plan())
            while decision.verdict is Verdict.CONTINUE:
                decision = yield from self._iterate()
        except BaseException as error:
            with suppress(BridgeError):
                self.files.write_status(self.state.iteration, *_interruption(error))
            raise
        complete = decision.verdict is Verdict.COMPLETE
        if complete:
            self.files.save_session(None)  # the next loop is about something else
        self.files.write_status(
            self.state.iteration,
            "graceful_exit" if complete else decision.reason,
            "completed" if complete else "halted",
            decision.reason,
        )
        seconds = time.monotonic() - started
        yield LoopEnded(decision.verdict, decision.reason, decision.detail, self.state.iteration, seconds)

    def _load_session(self) -> Generator[LoopEvent, None, None]:
        self.sessions = self.settings.resume and self.driver.supports_sessions()
        if not self.sessions:
            return
        found, spoiled = self.files.read_session()
        if spoiled:
            yield Notice(f"{self.files.session_file} holds no session id; a new session is started")
        self.state = State(session_id=found)

    def _iterate(self) -> Generator[LoopEvent, None, Decision]:
        iteration, session = self.state.iteration + 1, self.state.session_id
        plan = self.files.read_plan()
        argv, live = prepare_command(self.driver, self.settings, iteration=iteration, plan=plan, session_id=session)
        log = self.files.new_log("output", iteration)
        self.files.write_status(iteration, "executing", "running")
        yield IterationStarted(iteration, tuple(argv), session, live, plan, log)
        began = time.monotonic()
        outcome = yield from self._run(iteration, argv, live, log)
        self.state, decision = decide(self.state, outcome, self.settings.limits)
        if self.sessions:
            self.files.save_session(self.state.session_id)
        failed = failure_of(outcome) is not None
        self.files.write_status(iteration, "failed" if failed else "completed", "running" if failed else "success")
        yield IterationEnded(iteration, outcome, decision, time.monotonic() - began, log)
        return decision

    def _run(self, iteration: int, argv: list[str], live: bool, log: Path) -> Generator[LoopEvent, None, Outcome]:
        from bridge.stream.events import Reader

        show = None
        if live:
            show = yield from self._filter()
        reader = Reader()
        shown = timed_out = False
        errors = log.with_name(log.name.replace("driver_output_", "driver_stderr_", 1))
        env = dict(os.environ if self.settings.env is None else self.settings.env)
        program = Program(
            argv, cwd=self.settings.project, env=env, stderr_path=errors, timeout=self.settings.timeout
        )
        # Unbuffered: whoever follows the file sees each event when it comes.
        with program, open(log, "wb", buffering=0) as raw, closing(program.lines()) as lines:
            try:
                for line in lines:
                    raw.write(line)
                    reader.feed(line)
                    text = show(line) if show else b""
                    if text:
                        shown = True
                        yield OutputText(iteration, text.decode("utf-8", "replace"))
            except ProgramTimeout:
                timed_out = True
        answer = reader.answer()
        words = answer.text or answer.final_text
        if words and not shown:
            yield OutputText(iteration, words if words.endswith("\n") else words + "\n")
        assert program.status is not None
        return self._outcome(program.status, timed_out, answer, log, errors)

    def _filter(self) -> Generator[LoopEvent, None, Callable[[bytes], bytes] | None]:
        from bridge.stream.jq import Filter

        try:
            return Filter(self.driver.stream_filter()).apply
        except (ValueError, BridgeError) as error:
            yield Notice(f"the driver's stream filter is not usable, output comes at the end of a run: {error}")
            return None

    def _outcome(self, status: int, timed_out: bool, answer: Answer, log: Path, errors: Path) -> Outcome:
        from bridge.stream.status import find_promise, parse_status

        block = parse_status(answer.final_text) or parse_status(answer.text)
        promise = self.settings.promise
        outcome = Outcome(
            status=status,
            timed_out=timed_out,
            completed=answer.completed,
            is_error=answer.is_error,
            error=_one_line(answer.error or (_last_line(errors) if status or answer.is_error else "")),
            exit_signal=block.exit_signal if block else None,
            promised=promise is not None and find_promise(answer.text, promise),
            plan=self.files.read_plan(),
            resumed=self.state.session_id is not None,
        )
        if not self.sessions or failure_of(outcome):
            return outcome
        return replace(outcome, session_id=self.driver.recover_session_id(str(log)))


def _last_line(path: Path) -> str:
    """The end of stderr is where programs say why they gave up."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 4096))
        lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")


def _one_line(text: str) -> str | None:
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return (shown[:297] + "..." if len(shown) > 300 else shown) or None


def _interruption(error: BaseException) -> tuple[str, str, str]:
    """Name the action, the status and the exit reason for a loop that ends in the middle."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "stopped", "SIGINT"
    if isinstance(error, SystemExit):  # what the command line makes of TERM and HUP
        return "interrupted", "stopped", {143: "SIGTERM", 129: "SIGHUP"}.get(error.code, "exit")  # type: ignore[arg-type]
    if isinstance(error, GeneratorExit):
        return "interrupted", "stopped", "closed"
    return "unexpected_exit", "stopped", type(error).__name__
