"""An agent script as a tool: one turn is its hooks, and its program shown through its own filter."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from bridge.base.files import ANYWHERE, descriptor, open_file, read_bytes, usable
from bridge.base.git.immune import path_outside
from bridge.base.process.argv import resolve
from bridge.base.process.leftovers import MARK
from bridge.errors import HookExited, HookTimeout, ProgramNotFound
from bridge.loop.sandbox.permissions import without_own
from bridge.loop.turn.agent_program import AgentEnd, run_agent
from bridge.loop.turn.language_model import refuse_for_agent
from bridge.loop.turn.logs import TurnLog
from bridge.loop.turn.tool import (
    Command,
    HookText,
    Notice,
    OutputText,
    ProgramEnded,
    Tool,
    TurnResult,
    first_line,
    not_started,
    stderr_tail,
)
from bridge.scripts.agent import Elsewhere
from bridge.shell.protocol import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from bridge.loop.turn.tool import Event, TurnRequest, TurnSettings
    from bridge.scripts.agent import Agent
    from bridge.scripts.stream.analysis import Analysis, RunFacts


_SLOW = 10.0
"""Seconds after which a hook is named that is still running."""

_FOLLOWED = 0.05
"""Seconds between two looks at what is passed on."""
_CHUNK = 1 << 16

_LONGEST_LINE = 64 * 1024 * 1024

Beside = Literal["agent_pre_iteration", "agent_post_iteration"]


class AgentTool(Tool):
    """Runs an agent's program between its hooks. Each turn has a context of its own.

    Args:
        agent: the script; the shell's timeout is that of its hooks.
        as_controller: the program has this process's own stdin and stderr, and so have the hooks beside it, whose
            output is shown: as its own controller runs it.
        end_line: add the newline that the last line of what it prints may lack.
    """

    def __init__(
        self, agent: Agent, settings: TurnSettings, *, as_controller: bool = False, end_line: bool = True
    ) -> None:
        self.agent = agent
        self.name = f"agent {agent.script.stem}"
        self._settings = settings
        self._as_controller = as_controller
        self._end_line = end_line
        refuse_for_agent(agent, settings.model)
        self._began = int(time.time())
        # What the agent starts hands it on; the shell itself doesn't show it, and so is no leftover.
        agent.shell.execute(f"export {MARK}={quote(str(settings.project))}")
        self._path = "", ""
        """That of hooks beside a box, which leads to no program of the project's, and the one that the box has."""
        if settings.box is not None:
            path = str(agent.shell.get("PATH") or os.defpath)
            self._path = path_outside({"PATH": path}, settings.project) or os.defpath, path
            agent.shell.update({"PATH": self._path[0]})

    def prepare(self, request: TurnRequest) -> Command:
        """See whether the program is there; its own controller looks before its first turn, and then has each try.

        Raises:
            bridge.errors.ProgramNotFound: there is no ``AGENT_CLI``, in the first turn.
        """
        cli = self.agent.cli
        there = Command((cli,), None, live=True)
        if self._as_controller and request.first:
            return there
        try:
            self.require_program()
        except ProgramNotFound:
            if request.first:
                raise
            if self._as_controller:
                return replace(there, absent=cli)
            return Command(broken=f"{cli} was not found on PATH", absent=cli)
        return there

    def require_program(self) -> None:
        """See whether the program is there.

        Raises:
            bridge.errors.ProgramNotFound: there is no ``AGENT_CLI``.
        """
        cli = self.agent.cli
        with self._path_inside():
            there = self.agent.shell.call("command", "-v", "--", cli).ok
        if not there:
            raise ProgramNotFound(
                f"{cli} was not found on PATH; {self.agent.script} needs it\n"
                "  next: install it, or put the folder that holds it on PATH"
            )

    @contextmanager
    def _path_inside(self) -> Iterator[str]:
        """Have the PATH that a box has, with what a hook has put in front of it."""
        shell, (outside, whole) = self.agent.shell, self._path
        path = str(shell.get("PATH") or os.defpath)
        if outside == whole:
            yield path
            return
        inside = path.replace(outside, whole)
        shell.update({"PATH": inside})
        try:
            yield inside
        finally:
            shell.update({"PATH": path})

    def run(self, _command: Command, request: TurnRequest) -> Generator[Event, None, TurnResult]:
        """Run the hooks of one turn, with the program between them.

        Raises:
            bridge.errors.HookExited: the hook before it called ``exit``, which ends the loop.
            bridge.errors.BridgeError: the program can't be started, in the first turn; a file can't be written.
        """
        with _with_words(request, self._settings) as request:
            return (yield from self._run(request))

    def _run(self, request: TurnRequest) -> Generator[Event, None, TurnResult]:
        agent, logs = self.agent, request.logs
        agent.shell.update(
            {
                "SESSION_LOG": str(logs.output.parent / "ralph.log"),
                "session_start": self._began,
                "iteration": request.number,
                "retry": request.attempt,
                "iter_start": int(time.time()),
                "tmp_prompt": request.prompt,
                "agent_rc": 0,
                **request.variables,
            }
        )
        for name, value in request.exports().items():
            agent.shell.execute(f"export {name}={quote(value)}")
        if request.attempt == 0:
            agent.reset_context()
        yield from self._hook("agent_pre_iteration", request)
        try:
            end = yield from self._program(request)
        except ProgramNotFound as error:
            if request.first:
                raise
            return not_started(first_line(error))
        response = agent.extract_response(logs.output).rstrip("\n") if end.status == 0 else ""
        yield ProgramEnded(end.status, response, end.timed_out, end.mute)
        agent.shell["agent_rc"] = end.status or int(not response)
        left: BaseException | None = None
        try:
            yield from self._hook("agent_post_iteration", request)
        except (HookExited, KeyboardInterrupt, SystemExit) as error:  # the turn itself is over
            left = error
        return TurnResult(
            end.status,
            AgentOutput(logs.output, response if end.status == 0 else None),
            timed_out=end.timed_out,
            mute=end.mute,
            stderr=stderr_tail(logs.stderr),
            response=response,
            shown=end.shown or self._as_controller,
            left=left,
        )

    def _program(self, request: TurnRequest) -> Generator[Event, None, AgentEnd]:
        logs, settings, shown = request.logs, self._settings, False
        with usable(f"the log {logs.output}"):
            capture = TurnLog(logs.output, settings.turn_log_bytes)
        with (
            capture,
            _opened_for_bash(logs.stderr) as stderr,
            _passed_on(logs.stderr) if self._as_controller else nullcontext(),
            self._boxed(request) as instead,
        ):
            running = run_agent(
                self.agent,
                request.prompt,
                capture,
                instead=instead,
                stdin=0 if self._as_controller else b"",
                stderr=stderr,
                end_line=self._end_line,
                grace=settings.graces.interrupt,
                timeout=request.timeout,
                answered=settings.graces.answered,
                max_silence=settings.max_silence,
                on_line=request.on_line,
                on_start=request.on_start,
            )
            with closing(running) as texts:
                while True:
                    try:
                        text = next(texts)
                    except StopIteration as stop:
                        end: AgentEnd = stop.value
                        yield from map(Notice, filter(None, [capture.notice]))
                        return end._replace(shown=shown)
                    request.on_output(text.encode("utf-8", "surrogateescape"))
                    if settings.live:
                        shown = shown or bool(text.strip())
                        yield OutputText(request.number, text)

    @contextmanager
    def _boxed(self, request: TurnRequest) -> Iterator[Elsewhere | None]:
        """The box that the program runs in: with a bash that is what this one is, since only hooks run out here."""
        settings, box = self._settings, self._settings.box
        if box is None:
            yield None
            return
        box.admit(request.prompt)
        with tempfile.NamedTemporaryFile(prefix="ralph-bridge-agent-", suffix=".bash") as file:
            copy, prompt = file.name, os.path.join(settings.project, request.prompt)
            with self._path_inside() as path:
                env = {**settings.environment, **request.exports(), "PATH": path}
                bash = resolve(["bash"], cwd=settings.project, env=env)[0]
                boxed = box.command([bash, copy, request.prompt], env, also=(self.agent.cli,), reads=(copy, prompt))
                if isinstance(words := self.agent.shell.get("AGENT_ARGS"), str) and words:
                    self.agent.shell.update({"AGENT_ARGS": " ".join(without_own(self.agent.cli, words.split()))})
                self.agent.write_copy(copy, without=env.keys() - boxed.inside.keys())
            changed = {name: value for name, value in boxed.env.items() if env.get(name) != value}
            with boxed.standing():
                yield Elsewhere(boxed.argv, boxed.env.keys(), {"PATH": path, **changed})

    def _hook(self, hook: Beside, request: TurnRequest) -> Iterator[Event]:
        """A hook beside the program; one that hangs is named, ended at its deadline, and the loop goes on."""
        agent, seconds = self.agent, self._settings.hook_seconds
        call = agent.pre_iteration if hook == "agent_pre_iteration" else agent.post_iteration
        notices: list[str] = []

        def say(text: str) -> None:
            notices.append(text)
            request.on_notice(text)

        stdout = stderr = ""
        try:
            with named_when_slow(hook, seconds, say):
                reply = call(host_streams=self._as_controller)
            if reply is not None:
                stdout, stderr = reply.stdout, reply.stderr
        except HookTimeout as error:
            notices.append(f"{hook} was ended: it took longer than {seconds:g} s")
            stdout, stderr = error.stdout, error.stderr
        yield from map(Notice, notices)
        if self._as_controller:
            yield from hook_texts(stdout, stderr)


@contextmanager
def _with_words(request: TurnRequest, settings: TurnSettings) -> Iterator[TurnRequest]:
    """Put what this turn alone is told in front of its prompt, in a file of its own."""
    if not request.added:
        yield request
        return
    with tempfile.NamedTemporaryFile(prefix="ralph-bridge-prompt-", suffix=".md") as file:
        with usable("the prompt"):
            prompt = read_bytes(settings.project / request.prompt, root=ANYWHERE)
            file.write(request.added.encode("utf-8", "surrogateescape") + b"\n\n" + prompt)
            file.flush()
        yield replace(request, prompt=file.name, added="")


@contextmanager
def _opened_for_bash(path: Path | None) -> Iterator[Path | None]:
    """Open a log in the host; give the name by which bash opens just that file, whatever its own leads to."""
    if path is None:
        yield None
        return
    with usable(f"the log {path}"):
        opened = descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        name = Path(f"/proc/{os.getpid()}/fd/{opened}")
        yield name if name.exists() else path  # macOS: the path, as it was a moment ago
    finally:
        os.close(opened)


@contextmanager
def _passed_on(path: Path | None) -> Iterator[None]:
    """Have what is written to a log on this process's own stderr, too, as it comes.

    A pipe in between would end whatever outlives the turn and writes to it.
    """
    if path is None:
        yield
        return
    over = threading.Event()

    def follow(file: IO[bytes]) -> None:
        while True:
            last = over.wait(_FOLLOWED)
            with suppress(OSError):  # nobody reads
                while data := file.read(_CHUNK):
                    written = 0
                    while written < len(data):
                        written += os.write(2, data[written:])
            if last:
                return

    with open_file(path) as file:
        follower = threading.Thread(target=follow, args=(file,), daemon=True)
        follower.start()
        try:
            yield
        finally:
            over.set()
            follower.join()


def hook_texts(stdout: str, stderr: str) -> Iterator[HookText]:
    if stdout:
        yield HookText(stdout)
    if stderr:
        yield HookText(stderr, error=True)


class AgentOutput:
    """What a turn came to: the agent's words as its own script finds them, the rest from the raw output.

    Args:
        output: all that the program printed.
        response: what the agent itself said; None: the program failed, and its output says why.
    """

    def __init__(self, output: Path, response: str | None) -> None:
        from bridge.scripts.stream.analysis import Analyzer

        self._response = response
        self._raw = Analyzer()
        try:
            with open_file(output) as file:
                while line := file.readline(_LONGEST_LINE):
                    self._raw.feed(line)
        except OSError:  # the agent has tidied up: `git clean -fdx` takes ignored logs, too
            pass

    def finish(self, facts: RunFacts) -> Analysis:
        from bridge.scripts.stream.analysis import Analyzer

        raw = self._raw.finish(facts)
        if self._response is None:
            return raw
        words = Analyzer()
        words.feed(self._response.encode("utf-8", "surrogateescape"))
        return replace(
            words.finish(facts),
            family="text",
            text=self._response,
            last_text=_last_of(self._response, raw.last_text),
            completed_turn=None,
            usage=raw.usage,
            session_id=raw.session_id,
            has_permission_denials=raw.has_permission_denials,
            permission_denial_count=raw.permission_denial_count,
            denied_commands=raw.denied_commands,
            is_error=raw.is_error,
            error=raw.error,
            limit=raw.limit,
            permanent=raw.permanent,
        )


def _last_of(response: str, last: str) -> str:
    """The last message of a response that may be all of them; what its script prints otherwise is one."""
    return last if last.strip() and response.rstrip().endswith(last.strip()) else response


@contextmanager
def named_when_slow(what: str, deadline: float, say: Callable[[str], None]) -> Iterator[None]:
    """Say once that `what` is taking its time, well before its deadline.

    Args:
        what: such as ``agent_post_iteration``.
        deadline: seconds after which somebody else ends it.
        say: is called from a thread of its own.
    """
    seconds = min(_SLOW, deadline / 2)
    timer = threading.Timer(seconds, say, [f"{what} has been running for {seconds:g} s"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
