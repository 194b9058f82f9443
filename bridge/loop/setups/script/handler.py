"""Around the calls of a script: it is started, its calls are taken one after the other, and it gets its answers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.files import delete, usable, write_atomic
from bridge.base.process.leftovers import SCRIPT_MARK
from bridge.errors import BridgeError
from bridge.loop.engine.logs import APART
from bridge.loop.engine.outcome import answer_of
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.setups.plain.handler import PlainFiles, PlainHandler
from bridge.loop.setups.script.call_input import is_being_written, prompt_of
from bridge.loop.setups.script.call_output import deliver
from bridge.loop.setups.script.past_path import cli_names, paths_in, startup
from bridge.loop.setups.script.policy import ScriptState
from bridge.loop.setups.script.server import Server
from bridge.loop.setups.script.turn import CallTool, Running
from bridge.loop.turn.tool import first_line
from bridge.scripts.session_id import validate_session_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.script.process import ScriptProcess
    from bridge.loop.setups.script.server import Call
    from bridge.loop.turn.tool import TurnRequest

_PROMPT = ".ralph/.ralph_bridge.prompt.md"
"""What another tool is given in the place of a call's CLI."""
_TIMED_OUT = 124
_PUSH = re.compile(r"^[^#\n]*\bgit\b[^#\n;|&]*\bpush\b", re.MULTILINE)
_PIPE_SECONDS, _LOOK = 3.0, 0.05
_REPEATED = ("api_limit", "retry")


class ScriptHandler(PlainHandler[ScriptState]):
    """See :class:`bridge.loop.engine.handler.TurnHandler`.

    Args:
        files: of the loop. loop: its settings. logs_bytes: of all turns; 0: any.
        name: of the script, for people.
        start: makes the script, given its environment, a folder that goes with it, what to call at its end.
        env: of the script, without the stand-ins. text: of the script itself.
        read_plan: reads its plan; None from it: there is none.
        elsewhere: another tool may answer in the place of a call's CLI, which gets its prompt in a file.
        prints: the script itself prints for people; else what its calls answer is told.
        task: what each call is asked beside its own prompt. push: its `git push` pushes.
    """

    def __init__(
        self,
        files: PlainFiles,
        loop: LoopSettings,
        *,
        logs_bytes: int,
        name: str,
        start: Callable[[dict[str, str], str, Callable[[], None]], ScriptProcess],
        env: dict[str, str],
        text: str,
        read_plan: Callable[[], Plan | None],
        elsewhere: bool = False,
        prints: bool = True,
        task: str = "",
        push: bool = True,
    ) -> None:
        super().__init__(files, loop, logs_bytes=logs_bytes, names=APART)
        self._read_plan, self._problem, self._task = read_plan, "", task
        self._added = "" if elsewhere else task  # a driver may make nothing of what isn't in the prompt's file
        self.tool = CallTool(name, self._running_of, loop.poll_seconds, shown=prints)
        self._start = start
        self._env = env
        self._text, self._paths = text, [*paths_in(text, env)]
        # Another tool answers calls of CLIs that this machine doesn't have, too.
        absent = [name for name in cli_names() if elsewhere and not shutil.which(name, path=env.get("PATH"))]
        paths = [*(f"/nowhere/{each}" for each in absent), *self._paths]
        self._pushes = push
        self._server = Server(env, self._came, paths, self._notify, pushes=push)
        self._elsewhere = loop.project / _PROMPT if elsewhere or loop.reserves is not None else None
        self._script: ScriptProcess | None = None
        self._changed = threading.Condition()
        self._waiting: list[Call] = []
        self._running: dict[int, Running] = {}
        self._now: Call | None = None
        self._busy = self._over = False
        self._taken = 0
        self._since = 0.0
        """When a call has come or ended last."""

    # -- the script ----------------------------------------------------------------------------------

    def open(self, active: ActiveRun) -> Iterable[str]:
        told = [*super().open(active)]
        self._server.__enter__()
        try:
            self._begin_script()
        except BaseException:  # from here on close() is the loop's to call
            self.close()
            raise
        return told

    def _begin_script(self) -> None:
        path = self._env.get("PATH", os.defpath)
        env = {**self._env, "PATH": f"{self._server.bin}{os.pathsep}{path}", SCRIPT_MARK: str(self._loop.project)}
        words = startup(self._text, self._server.bin, self._env, self._server.names, self._paths)
        if words:
            env["BASH_ENV"] = self._server.keep("startup", words)
        self._script = self._start(env, str(self._server.folder), self._notify)
        self._script.start()

    def close(self) -> None:
        """End the script, and whatever runs for it."""
        self._over = True
        try:
            with self._changed:
                left = [*self._running.values()]
            for each in left:
                each.stop()
            if self._script is not None:
                self._script.terminate()
                with self._changed:
                    calls = (*self._waiting, *(each.call for each in left), *filter(None, [self._now]))
                for call in calls:
                    call.end(-signal.SIGTERM)
                self._script.end()
        finally:
            self._server.__exit__()
            super().close()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _came(self, call: Call) -> None:
        """Take a call; one that comes while another is under way begins at once."""
        if self._over:
            call.end(-signal.SIGTERM)
            return
        with self._changed:
            self._waiting.append(call)
            self._since = time.monotonic()
            if self._busy and self._loop.box is None and self._may_begin():
                self._begin(call).start()
            self._changed.notify_all()

    def _may_begin(self) -> bool:
        most = self._loop.limits.max_iterations
        return not self._over and (most is None or self._taken + len(self._running) < most)

    def _begin(self, call: Call, request: TurnRequest | None = None) -> Running:
        if request is None:
            logs = self._new_logs(call.number)
            running = Running(
                call, self._loop, *logs, timeout=self._loop.timeout, added=self._added, notify=self._notify
            )
            running.beside = True
        else:
            assert request.logs.stderr is not None
            running = Running(
                call,
                self._loop,
                request.logs.output,
                request.logs.stderr,
                timeout=request.timeout,
                added=request.added,
                exports=request.exports,
                notify=self._notify,
            )
        self._running[call.number] = running
        return running

    # -- moments of the loop -------------------------------------------------------------------------

    def ready(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        with self._changed:
            while not self._something() and (left := until - time.monotonic()) > 0:
                self._changed.wait(min(left, _LOOK) if self._waiting else left)
            return self._something()

    def _something(self) -> bool:
        return self._first() is not None or self._now is not None or self._has_ended()

    def _first(self) -> int | None:
        """Which of the calls that wait is the next. Where they run one after the other, one that reads from a pipe
        comes behind others, for a while: another CLI may be what writes into it.
        """
        if not self._waiting:
            return None
        serial = self._loop.box is not None or self._elsewhere is not None
        ready = (number for number, call in enumerate(self._waiting) if not (serial and is_being_written(call)))
        late = time.monotonic() - self._since >= _PIPE_SECONDS
        return next(ready, 0 if late else None)

    def _has_ended(self) -> bool:
        assert self._script is not None
        return self._script.status is not None and not self._server.at_work()

    def load(self, state: ScriptState) -> tuple[ScriptState, Iterable[str]]:
        assert self._script is not None
        with self._changed:
            if self._now is not None and self._now.gone:
                self._now.end(143)
                self._now = None
            called = self._first() is not None or self._now is not None
            ended = self._script.status if self._has_ended() else None
        return replace(state, called=called, ended=ended), ()

    def read_plan(self) -> Plan | None:
        """An agent may leave it half written: then it is as if there was none, and people are told."""
        try:
            plan, self._problem = self._read_plan(), ""
        except BridgeError as error:
            plan, self._problem = None, first_line(error)
        return plan

    def begin_turn(self, state: ScriptState, plan: Plan | None, session: str | None) -> TurnRequest:
        request = super().begin_turn(state, plan, session)
        with self._changed:
            if self._now is None:
                self._now = self._waiting.pop(self._first() or 0)
                self._taken += 1
            running = self._running.get(self._now.number)
        if running is not None:  # begun beside another
            logs = request.logs._replace(output=running.output, stderr=running.errors)
            delete(request.logs.output)
            request = replace(request, logs=logs)
        request = replace(request, added=self._added)
        if self._elsewhere is None:
            return replace(request, prompt="", context="")
        broken = ""
        try:
            with usable("the prompt of the turn"):
                words = (prompt_of(self._now), self._task.encode("utf-8", "surrogateescape"))
                write_atomic(self._elsewhere, b"\n\n".join(filter(None, words)))
        except BridgeError as error:
            broken = first_line(error)
        return replace(request, prompt=str(self._elsewhere), context="", broken=broken)

    def _running_of(self, request: TurnRequest) -> Running:
        with self._changed:
            assert self._now is not None
            self._busy = True
            running = self._running.get(self._now.number)
            if running is not None and request.attempt and not running.is_alive():
                self._server.look_again(self._now)
                running.relay.drop()
                running = None
            running = running or self._begin(self._now, request)
            for each in self._waiting:  # that came with it
                if each.number not in self._running and self._loop.box is None and self._may_begin():
                    self._begin(each).start()
            return running

    def take_in(self, state: ScriptState, turn: Turn) -> Outcome:
        with self._changed:
            self._busy = False
        outcome = super().take_in(state, turn)
        assert self._now is not None
        session = validate_session_id(outcome.analysis.session_id) if outcome.analysis else None
        outcome = replace(outcome, session_id=session)  # for the record: no turn resumes another's
        return replace(outcome, limit=None) if self._now.gone else outcome

    def pushes(self) -> bool:
        return self._pushes and _PUSH.search(self._text) is not None

    def others_at_work(self) -> bool:
        with self._changed:
            self._busy = False  # from now on none begins beside it
            now = self._now.number if self._now is not None else 0
            return any(running.is_alive() for number, running in self._running.items() if number != now)

    def stopped(self) -> bool:
        """Whether nobody waits any more for the call that is to be repeated."""
        return self._now is not None and self._now.gone

    def keep(self, state: ScriptState, outcome: Outcome, decision: Decision) -> Iterable[str]:
        call = self._now
        assert call is not None
        with self._changed:
            running = self._running.pop(call.number, None)
        if decision.verdict is Verdict.CONTINUE and decision.reason in _REPEATED and not call.gone:
            if running is not None:
                running.relay.drop()
            return super().keep(state, outcome, decision)
        self._now, self._since = None, time.monotonic()
        # As `timeout` ends: a status of the signal that ended it would end a bash that waits for it.
        status = _TIMED_OUT if outcome.timed_out else outcome.status
        if decision.verdict is Verdict.CONTINUE:
            if running is not None:
                running.answer(status)
            else:
                deliver(call, answer_of(outcome) or (f"{outcome.failure}\n" if outcome.failure else ""))
        call.end(status)
        told = [*super().keep(state, outcome, decision)]
        return [*told, f"{self._problem}; the plan does not count until it is mended"] if self._problem else told

    def _new_logs(self, number: int) -> tuple[Path, Path]:
        from bridge.loop.turn.logs import new_log

        output = new_log(self.store.logs, f"driver_output_beside_{number}")
        return output, output.with_name(output.name.replace("output", "stderr", 1))
