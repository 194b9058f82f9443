"""Where a script is tried: scratch folders, the time that is left, and programs that are run there."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import time
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.base.process.ask import TOO_LONG, ask
from bridge.verify.budget import strain
from bridge.verify.probe.box import box, guarded
from bridge.verify.probe.far import REPLACED, WRAPPERS
from bridge.verify.probe.scratch import Scratch
from bridge.verify.probe.state import ProbeFailed, StrictRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bridge.base.process.ask import Ran
    from bridge.scripts.help_text import Help
    from bridge.verify.budget import Budget
    from bridge.verify.probe.far import Arrival
    from bridge.verify.rehearsal.homes import Machine

DEADLINE = 5.0
"""Seconds for one call. A sound hook takes milliseconds; only a script that hangs ever pays for it."""

SEVERAL = 4
"""How many times as long a call may take that reads or prints a whole output."""

_ARRIVAL = 2.0
"""Seconds that a command's CLI may take to start when the command itself has ended."""


class Bench:
    """Scratch folders and a box for one script; programs in them have the time that its budget leaves.

    trace: code that each bash runs before it sources the script.
    """

    def __init__(self, script: Path, bash: str, budget: Budget, deadline: float, trace: str) -> None:
        self.script = os.path.abspath(script)
        self.trace = trace
        self.bash = bash
        self.budget = budget
        self.deadline = deadline * strain()
        self.scratch = Scratch()
        self._guard = contextlib.ExitStack()
        self._guard.enter_context(guarded())

    def close(self) -> None:
        self._guard.close()
        self.scratch.close()

    def limit(self) -> float:
        """Seconds that the next call may take. Raises `ProbeFailed` when the time for this script is used up."""
        left = self.budget.remaining
        if left <= 0:
            raise ProbeFailed(self.budget.used_up)
        return min(self.deadline, left)

    @property
    def patience(self) -> float:
        """Seconds that what runs already may still take: never none, so that it can be ended and reaped."""
        return self.patience_for(1)

    def patience_for(self, calls: int) -> float:
        return max(0.1, min(calls * self.deadline, self.budget.remaining))

    def cut(self, hook: str) -> None:
        """A call was ended. Raise `ProbeFailed` if that was because no time is left: it is no fault of the hook."""
        if not self.budget.remaining:
            self.budget.was_cut(hook)
            raise ProbeFailed(self.budget.used_up)

    def run(
        self,
        argv: Sequence[str],
        calls: int = 1,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        linger: Callable[[], bool] = lambda: False,
    ) -> Ran:
        """Run a program in the project with the scripted CLI on PATH, for as long as so many calls may take.

        linger: see `ask`.
        """
        self.limit()
        began = time.monotonic()
        env = self.scratch.environment() if environment is None else environment
        patience = self.patience_for(calls)
        ran = ask(
            [*box().prefix, *argv], cwd=self.scratch.project, env=env, stdin=stdin, patience=patience, linger=linger
        )
        if ran.status == TOO_LONG:
            self.cut("it")
        else:
            self.budget.came_back("", time.monotonic() - began)
        return ran

    def strictly(
        self, hooks: Sequence[str], options: str = "-e", before: str = "", *, condition: bool = False
    ) -> StrictRun:
        """Source it in a plain bash with these options, then call `hooks`, one after the other.

        before: code that is run first. condition: hooks are called behind a ``||``, which suspends errexit in them.
        """
        log = str(self.scratch.root / "strict")
        source = f". {shlex.quote(self.script)} >/dev/null"
        code = f"exec 9>{shlex.quote(log)}\n{before}\n{self.trace}set {options}\n{source}\n"
        for hook in ("loaded", *hooks):
            call = f"{hook} >/dev/null" + " || :" * condition
            code += f"{call}\n" * (hook != "loaded") + f"builtin printf '{hook}\\0' >&9\n"
        ran = self.run([self.bash, "--noprofile", "--norc", "-c", code], 1 + len(hooks))
        if ran.status == TOO_LONG:
            return StrictRun(False, (), -1, "it did not end")
        with open(log, errors="replace") as file:
            reached = file.read().split("\0")[:-1]
        return StrictRun("loaded" in reached, tuple(reached[1:]), ran.status, ran.err)

    def far_end(self, argv: Sequence[str], words: Sequence[str], stdin: bytes = b"", status: int = 0) -> Arrival:
        """Run a command with stand-ins for all that it starts: what arrives at the last, which ends with `status`.

        words: of commands of this kind; programs that they name have a stand-in as well.
        """
        stand_ins = self.scratch.stand_ins
        stand_ins.for_command(words)
        environment = self.scratch.environment() | {"BASH_ENV": str(stand_ins.control / "far.bash")}
        environment["PATH"] = os.pathsep.join((str(stand_ins.far), environment["PATH"]))
        stand_ins.ends_with(status)
        end = time.monotonic() + _ARRIVAL * strain()

        def under_way() -> bool:
            """What a command starts and doesn't wait for may still arrive."""
            return not stand_ins.has_arrived() and time.monotonic() < end

        ran = self.run(
            stand_ins.shielded(argv, environment["PATH"]), environment=environment, stdin=stdin, linger=under_way
        )
        return stand_ins.take(ran.status)

    @cached_property
    def _machine(self) -> Machine:
        from bridge.verify.rehearsal.homes import Machine  # only of those who have the CLI

        tmp = self.scratch.root / "tmp"
        return Machine(os.environ, self.scratch.home, tmp=tmp, patience=lambda: self.patience)

    def help_of(self, path: tuple[str, ...]) -> Help | None:
        """The help of the CLI that is installed here, or of one of its commands; it is asked nothing else.

        It is run in the scratch home, where it is kept from updating itself; programs that start others, or are the
        system's, are not asked.
        """
        name = os.path.basename(path[0])
        ours = name in REPLACED or name in WRAPPERS or self.scratch.is_system_program(name)
        found = None if ours else shutil.which(name)
        return self._machine.help_of((found, *path[1:])) if found else None
