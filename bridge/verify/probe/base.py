"""A script in a living bash, watched: what each call answered, and what it moved."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import (
    BridgeError,
    HookError,
    HookExited,
    HookInterrupted,
    HookTimeout,
    OutputLimitExceeded,
    ShellDied,
)
from bridge.shell import Shell
from bridge.shell.protocol import quote
from bridge.verify.probe.scratch import Moved, Scratch
from bridge.verify.probe.state import CAPTURE, DEFINE, State, state_of

if TYPE_CHECKING:
    from bridge.shell.values import Value

__all__ = ["DEADLINE", "Answer", "Probe", "ProbeFailed"]

DEADLINE = 5.0
"""Seconds for one call. A sound hook takes milliseconds; only a script that hangs ever pays for it."""

_ASKED_FOR = re.compile(r"""(?:command\s+-[vV]|type\s+-[pPt]+|which|hash)\s+["']?([A-Za-z][\w.+-]*)["']?""")


class ProbeFailed(BridgeError, RuntimeError):
    """The script could not be observed, so the check can't tell."""


class Answer(NamedTuple):
    """How one call went.

    trouble: empty, or how it failed to come back: ``exited``, ``hung``, ``died``, ``flooded``, ``interrupted``.
    value: of the global that was asked for.
    """

    hook: str
    status: int
    stdout: str
    stderr: str
    trouble: str = ""
    value: Value | None = None

    @property
    def ok(self) -> bool:
        """Whether it came back with status 0."""
        return not self.trouble and self.status == 0

    @property
    def text(self) -> str:
        """What ``$(hook)`` gives."""
        return self.stdout.replace("\0", "").rstrip("\n")


class Probe:
    """The part that drivers and agents share. Observations are made on demand and only once."""

    def __init__(self, subject: Any, deadline: float = DEADLINE) -> None:
        self.subject = subject
        self.deadline = deadline
        self.script = os.path.abspath(subject.path)
        self.scratch = Scratch()
        self._shell: Shell | None = None
        self._hung: dict[str, Answer] = {}
        self._states: list[tuple[str, State, State]] = []
        self.moved: list[tuple[str, Moved]] = []
        self._ran: list[tuple[str, str]] = []
        self._lock = threading.RLock()
        self.exits: list[Answer] = []

    def close(self) -> None:
        """End the shell and remove the scratch folders."""
        if self._shell is not None:
            self._shell.close()
        self.scratch.close()

    # -- loading -------------------------------------------------------------------------------------

    def prepare(self, shell: Shell) -> None:
        """What the host defines before it sources a script of this kind."""

    @cached_property
    def loading(self) -> tuple[Answer, State | None, State | None]:
        """Sourcing it: the answer, and the shell before and after. The CLI is not installed at that time: a
        script must not depend on it before it is asked."""
        self._guess_cli()
        try:
            shell = self._shell = Shell(
                bash=self.subject.bash or None,
                env=self.scratch.environment() | {"PATH": self.scratch.path_without()},
                cwd=self.scratch.project,
                timeout=self.deadline,
                output_limit=4 << 20,
                grace=0.2,
            )
            shell.execute(DEFINE)
            self.prepare(shell)
        except HookError as error:
            raise ProbeFailed(f"no bash to look at the script in: {error.what}") from error
        before = self.state(traps=True)
        files = self.scratch.files()
        answer = self._guarded("source", lambda: shell.source(self.script))
        self.moved += [("source", moved) for moved in self.scratch.differences(files)]
        if answer.trouble in ("hung", "died"):
            return answer, before, None
        after = self.state(traps=True)
        with contextlib.suppress(HookError):
            shell.call("eval", f"PATH={quote(self.scratch.path)}; hash -r")
        return answer, before, after

    @property
    def shell(self) -> Shell:
        """The living bash with the script in it.

        Raises:
            ProbeFailed: sourcing it hung or killed the shell.
        """
        answer = self.loading[0]
        if self._shell is None or answer.trouble in ("hung", "died"):
            raise ProbeFailed(f"the script can't be loaded: sourcing it {answer.trouble or 'failed'}")
        return self._shell

    def _guess_cli(self) -> None:
        """Programs that the script looks for get a scripted CLI."""
        with contextlib.suppress(OSError), open(self.script, errors="replace") as file:
            for name in _ASKED_FOR.findall(file.read()):
                if not self.scratch.is_system_program(name):
                    self.scratch.add_cli(name)

    @cached_property
    def functions(self) -> dict[str, str]:
        """Its functions, name to body as bash prints it (without comments)."""
        names = self.shell.functions()
        printed = self.shell.call("declare", "-f").stdout
        heads = [(m.start(), m.group(1)) for m in re.finditer(r"^([^\s()]+) \(\) *$", printed, re.MULTILINE)]
        ends = [start for start, _ in heads[1:]] + [len(printed)]
        bodies = {name: printed[start:end] for (start, name), end in zip(heads, ends, strict=True)}
        return {name: bodies.get(name, "") for name in names}

    def has(self, hook: str) -> bool:
        """Whether the script defines it."""
        return hook in self.functions

    def mentions(self, variable: str) -> bool:
        """Whether any of its functions names this variable."""
        word = re.compile(rf"\b{variable}\b")
        return any(word.search(body) for body in self.functions.values())

    def limit(self) -> float:
        """Seconds that the next call may take.

        Raises:
            ProbeFailed: the time for this script is used up.
        """
        left = self.remaining
        if left <= 0:
            raise ProbeFailed("the time for running this script is used up")
        return min(self.deadline, left)

    @property
    def remaining(self) -> float:
        """Seconds left for this script."""
        return float(getattr(self.subject, "remaining", self.deadline))

    @property
    def patience(self) -> float:
        """Seconds that what runs already may still take: never none, so that it can be ended and reaped."""
        return max(0.1, min(self.deadline, self.remaining))

    def own(self, hook: str) -> bool:
        """Whether the script itself defines it, and not the host."""
        return self.has(hook)

    # -- calls ---------------------------------------------------------------------------------------

    def state(self, *, traps: bool = False) -> State | None:
        """The shell as it is now; `traps`: with an ERR trap, which bash hides from an eval in a condition."""
        assert self._shell is not None
        try:
            found = state_of(self._shell.call("eval", CAPTURE).stdout)
            if traps and found is not None:
                found = found._replace(traps=self._shell.call("trap", "-p").stdout)
            return found
        except HookError:
            return None

    def call(
        self, hook: str, *arguments: str, array: str | None = None, stdin: bytes | None = None, watch: bool = False
    ) -> Answer:
        """Call a hook; `watch` notes what it moved. One that hung is not called again."""
        with self._lock:
            if hook in self._hung:
                return self._hung[hook]
            shell = self.shell
            limit = self.limit()
            if hook == "agent_extract_response":  # it starts a jq for each line, on a machine that may be busy
                limit = min(4 * self.deadline, self.remaining)
            before = self.state() if watch else None
            files = self.scratch.files() if watch else None
            self.scratch.calls()
            answer = self._guarded(
                hook,
                lambda: shell.call(hook, *arguments, stdin=stdin, timeout=limit, read=[array] if array else ()),
            )
            if answer.trouble == "exited":
                self.exits.append(answer)
            self._ran += [(hook, line) for line in self.scratch.calls()]
            if files is not None:
                self.moved += [(hook, moved) for moved in self.scratch.differences(files)]
            if before is not None and not answer.trouble and (after := self.state()) is not None:
                self._states.append((hook, before, after))
            return answer

    def _guarded(self, hook: str, run: Any) -> Answer:
        try:
            reply = run()
        except HookError as error:
            kinds = {
                HookExited: "exited",
                HookTimeout: "hung",
                ShellDied: "died",
                OutputLimitExceeded: "flooded",
                HookInterrupted: "interrupted",
            }
            trouble = next((word for kind, word in kinds.items() if isinstance(error, kind)), "died")
            if trouble == "exited" and error.state_lost:
                trouble = "died"  # bash itself ended, whatever the script called
            answer = Answer(hook, error.status or 0, error.stdout, error.stderr, trouble)
            if trouble != "exited":
                self._hung[hook] = answer
            return answer
        value = next(iter(reply.values.values()), None)
        return Answer(hook, reply.status, reply.stdout, reply.stderr, "", value)

    def evaluate(self, code: str) -> None:
        """Run code of ours in the main shell, such as assignments."""
        with contextlib.suppress(HookError):
            self.shell.call("eval", code)

    def watched(self) -> list[tuple[str, State, State]]:
        """What each hook moved, after all that can be called have been."""
        return self._states

    @property
    def troubles(self) -> list[Answer]:
        """Calls that hung, died or flooded, but for sourcing."""
        return [answer for hook, answer in self._hung.items() if hook != "source"]
