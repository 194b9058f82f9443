"""What an agent's runs do: its CLI run for real (a scripted one), and the hooks before and after an iteration."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process.ask import TOO_LONG
from bridge.base.process.ladder import end_session
from bridge.base.process.table import members, resting
from bridge.verify.budget import strain
from bridge.verify.probe.base import Probe, once
from bridge.verify.probe.bench import SEVERAL
from bridge.verify.probe.box import box
from bridge.verify.probe.commands import encoded, strings_in_json
from bridge.verify.probe.far import REPLACED, UNFOLLOWED, why_unjudged
from bridge.verify.probe.state import HookResult, ProbeFailed
from bridge.verify.recordings import Recording, recordings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.shell import Shell
    from bridge.verify.probe.state import Watched

_LOG = "log() { \\builtin printf '%s\\n' \"$*\" >&2; }"
_CONTROLLER = {
    "MODE": "build", "SPECS_DIR": "specs", "PROCESS_DIR": "", "MAX_ITERATIONS": "10", "MAX_RETRIES": "3",
    "DEFAULT_MAX_ITERATIONS": "10", "iteration": "1", "retry": "0", "agent_rc": "0", "iter_start": "1700000000",
    "session_start": "1700000000", "_ITER_CONTEXT_PCT": "", "_ITER_CONTEXT_USED": "", "_ITER_CONTEXT_MAX": "",
}  # fmt: skip

_LOOK, _LOOKS = 0.05, 12
"""Seconds between two looks at processes, and how often in a row they must be seen at rest."""

_BEHIND = 2.0
"""Seconds that what a hook leaves behind may take to end after it, such as a filter of its stderr."""

STATUS = 7
FIRST = b'{"type":"rb.first","text":"tab\\t \\\\ %s  two  blanks"}\n'
SECOND = b'not JSON at all: \xff\xfe *\n{"type":"rb.second"}\n'
PROMPT = (
    "Mend the \"parser\" of 'this' project: $(touch rb-evaluated) `touch rb-evaluated` \\n %s * $HOME\n\n"
    "# A heading \u2013 “done” ✓\n\n<!-- a note for the agent -->\n\n  indented  \n"
) + ("- [ ] one of many lines of a long plan\n" * 400)
PROMPT_FILE = ".ralph/the prompt.md"


class InvokeRun(NamedTuple):
    """One run of agent_invoke. `prompt`: how the prompt arrived: stdin, argument, path, or empty for not at all.

    started: whether the CLI was run. status: of the hook, None when it had to be ended. early: whether the CLI's
    first line came through while the CLI was still at work. argv, folder: its arguments and working folder.
    far: where the CLI only starts another program, as ssh does: the command line of that. unfollowed: a program on
    the way that is not followed, so that nobody knows what it starts.
    """

    started: bool
    prompt: str
    status: int | None
    stdout: bytes
    stderr: bytes
    early: bool
    argv: tuple[str, ...] = ()
    folder: str = ""
    far: tuple[str, ...] = ()
    unfollowed: str = ""


class AgentRuns(Probe):
    def prepare(self, shell: Shell) -> None:
        """The host's `log`, which optional hooks may call, and its variables."""
        shell.execute(f"{_LOG}\n{self.host()}")

    def host(self) -> str:
        """The code that sets what a controller has set when it sources the script.

        What it sets only later, such as SESSION_LOG, is here as well: in hooks it is there, and that a script is
        sourced before is what other checks find.
        """
        folder = self.scratch.project / ".ralph"
        stem = os.path.basename(self.script).removesuffix(".sh")
        values = {
            "RALPH_DIR": str(folder),
            "RALPH_HOME": ".ralph",
            "SESSION_LOG": f"{folder}/session.log",
            "AGENT": stem,
        }
        values |= {"tmp_prompt": str(self.scratch.project / PROMPT_FILE)} | _CONTROLLER
        return "\n".join(f"{name}={shlex.quote(value)}" for name, value in values.items())

    def _guess_cli(self) -> None:
        with contextlib.suppress(OSError), open(self.script, errors="replace") as file:
            for name in re.findall(r"""^\s*(?:export\s+)?AGENT_CLI=["']?([\w./+-]+)""", file.read(), re.MULTILINE):
                self.scratch.add_cli(name)
        super()._guess_cli()

    @once
    def cli(self) -> str | None:
        value = self.shell.get("AGENT_CLI")
        if isinstance(value, str) and value and not value.isspace():
            self.scratch.add_cli(value.split()[0])
        return value if isinstance(value, str) or value is None else " ".join(value)

    @once
    def program(self) -> str:
        """The program that prints the events: AGENT_CLI, or the one that it starts somewhere else."""
        cli = self.cli() or ""
        if os.path.basename(cli) in REPLACED and self.has("agent_invoke"):
            with contextlib.suppress(ProbeFailed), self.by_the_way():
                words = (*self.invocation().far, *self.invocation().argv)
                return next((word for word in words if recordings_of(word)), cli)
        return cli

    def line(self) -> list[str] | None:
        """The command line of that program; None when it can't be told."""
        with contextlib.suppress(ProbeFailed):
            if program := self._invocation().unfollowed:
                self.unseen.append(why_unjudged(program))
        return self._line()

    def _line(self) -> list[str] | None:
        with contextlib.suppress(ProbeFailed), self.by_the_way():
            run = self.invocation()
            if run.started and not run.unfollowed:
                return [*run.far] or [self.cli() or "", *run.argv]
        return None

    @once
    def recorded(self) -> list[Recording]:
        line = self._line()
        if self.marked() is None and line is not None and not any("json" in word for word in line):
            return []  # as plain text
        return self.recordings(line)

    # -- agent_invoke --------------------------------------------------------------------------------

    def invocation(self) -> InvokeRun:
        """agent_invoke with a CLI that records, prints a line, waits, prints more and ends with status 7.

        Raises `ProbeFailed` when there is nothing to run, or the CLI is behind something that is not followed.
        """
        run = self._invocation()
        if run.unfollowed and not run.started:
            raise ProbeFailed(why_unjudged(run.unfollowed))
        return run

    @once
    def _invocation(self) -> InvokeRun:
        word = (self.cli() or "").split()
        if not word or not self.has("agent_invoke"):
            raise ProbeFailed("there is no AGENT_CLI or no agent_invoke to run")
        if "/" in word[0] and not word[0].startswith(str(self.scratch.root)):
            raise ProbeFailed(f"the CLI {word[0]} lies outside what a probe may replace")
        control = self.scratch.control
        (control / "first").write_bytes(FIRST)
        (control / "answer").write_bytes(SECOND)
        (control / "status").write_text(f"{STATUS}\n")
        code = self._invoking()
        files = self.scratch.files()
        try:
            with self.scratch.gate() as let_through:
                run = self._invoke(code, let_through)
            if not run.started:
                self.miss("agent_invoke does not run the CLI", "does")
            elif run.status is None:
                self.miss("agent_invoke does not end", "does")
            return run
        finally:
            self.scratch.answer(None)
            self.note_files("agent_invoke", files)

    def _invoking(self) -> str:
        prompt = self.scratch.file(f"project/{PROMPT_FILE}", PROMPT.encode())
        return f"set -o pipefail\nagent_invoke {shlex.quote(prompt)}"

    @once
    def takes_long_prompts(self) -> bool:
        """Whether the CLI is started with a prompt of more than 128 KiB, too, which Linux takes for no argument."""
        prompt = self.scratch.file(
            "project/.ralph/long prompt.md", PROMPT.encode() * (1 + (256 << 10) // len(PROMPT))
        )
        self.scratch.calls()
        self.run(self._argv(f"agent_invoke {shlex.quote(prompt)} >/dev/null"))
        os.unlink(prompt)
        return bool(self.scratch.calls())

    @once
    def good_status(self) -> int | None:
        self.invocation()  # raises where nothing can be run
        self.scratch.answer(FIRST.decode())
        try:
            ran = self.run(self._argv(f"{self._invoking()} >/dev/null"), SEVERAL)
        finally:
            self.scratch.answer(None)
        return None if ran.status == TOO_LONG else ran.status

    def _invoke(self, code: str, let_through: Callable[[], None]) -> InvokeRun:
        out = bytearray()
        self.scratch.stand_ins.unfollowed()  # what was on the way before
        began = time.monotonic()
        with self._start(code) as process:
            early = self._read_until("agent_invoke", process, out, lambda: FIRST.strip() in out)
            let_through()
            try:
                rest, errors = self._to_the_end(process)
                status: int | None = process.returncode
                self.budget.came_back("agent_invoke", time.monotonic() - began)
            except subprocess.TimeoutExpired:
                end_session(process)
                self.cut("agent_invoke")
                rest, errors, status = b"", b"", None
        run = InvokeRun(
            started=False, prompt="", status=status, stdout=bytes(out) + rest, stderr=errors, early=early
        )
        if not (self.scratch.control / "stdin").exists():
            return run._replace(unfollowed=self.scratch.stand_ins.unfollowed())
        argv, stdin = self.scratch.recorded("argv").split("\0"), self.scratch.recorded("stdin")
        way, far, cli = self._way_of_the_prompt(argv, stdin), list[str](), os.path.basename(self.cli() or "")
        unfollowed = cli if cli in UNFOLLOWED else ""
        if way and cli in REPLACED and not unfollowed:
            line = [self.cli() or "", *argv[:-1]]
            words = [word for word in line if PROMPT.strip() not in word]
            arrival = self.far_end(line, words, encoded(stdin))
            if given := arrival.given:
                far = given[:-1]
                way = self._way_of_the_prompt(far, given[-1])
            unfollowed = arrival.unfollowed if not way or not given else ""
        return run._replace(
            started=True,
            prompt=way,
            argv=tuple(encoded(word).decode(errors="replace") for word in argv if word),
            folder=self.scratch.recorded("cwd").rstrip("\n"),
            far=tuple(far),
            unfollowed=unfollowed,
        )

    def _to_the_end(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        """Its outputs, to their ends; TimeoutExpired when it, or what holds them open, goes on for too long."""
        end = time.monotonic() + self.patience_for(SEVERAL)
        while True:
            try:
                return process.communicate(timeout=_LOOK * 4)
            except subprocess.TimeoutExpired:
                if process.poll() is not None:
                    return process.communicate(timeout=_BEHIND * strain())
                if time.monotonic() > end:
                    raise

    def _way_of_the_prompt(self, argv: Sequence[str], stdin: str) -> str:
        text = PROMPT.rstrip("\n")
        given = strings_in_json(stdin) if stdin.lstrip()[:1] in ("{", "[", '"') else ()
        if text in (each.rstrip("\n") for each in (stdin, *given)):
            return "stdin"
        if any(text in argument for argument in argv):
            return "argument"
        return "path" if any(PROMPT_FILE in argument for argument in argv) else ""

    def _argv(self, code: str) -> list[str]:
        code = f"{_LOG}\n{self.host()}\n{self.trace}. {shlex.quote(self.script)} >&2\n{code}"
        return [self.bash, "--noprofile", "--norc", "-c", code]

    def _start(self, code: str, *, fed: bool = False) -> subprocess.Popen[bytes]:
        """A plain bash with the script in it; `fed` through a pipe, and then without its stderr."""
        self.limit()
        return subprocess.Popen(
            [*box().prefix, *self._argv(code)],
            stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if fed else subprocess.PIPE,
            cwd=self.scratch.project,
            env=self.scratch.environment(),
            start_new_session=True,
        )

    def _read_until(
        self, hook: str, process: subprocess.Popen[bytes], into: bytearray, seen: Callable[[], bool]
    ) -> bool:
        """Read stdout until `seen()`; False when it ends before that, or all that it has started waits for more."""
        assert process.stdout is not None
        end = time.monotonic() + self.patience_for(SEVERAL)
        rests = 0
        while not seen():
            if select.select([process.stdout], [], [], _LOOK)[0]:
                rests = 0
                data = os.read(process.stdout.fileno(), 1 << 16)
                if not data:
                    return False
                into += data
                continue
            rests = rests + 1 if resting((process.pid, *members(process.pid))) else 0
            if time.monotonic() > end and not self.budget.remaining:
                end_session(process)
                self.cut(hook)
            if rests == _LOOKS or time.monotonic() > end:
                return False
        return True

    # -- optional hooks ------------------------------------------------------------------------------

    @once
    def optional(self) -> list[tuple[HookResult, frozenset[str]]]:
        """agent_pre_iteration and agent_post_iteration, one after the other as a loop would call them: the
        answers, and the variables that are set afterwards."""
        self.cli()  # its scripted CLI must be there
        self.scratch.answer("Balance: $12.50\n")
        found = []
        for hook in ("agent_pre_iteration", "agent_post_iteration"):
            if self.has(hook):
                answer = self.call(hook, watch=True)
                state = self.state()
                found.append((answer, state.names if state is not None else frozenset()))
        self.scratch.answer(None)
        return found

    @once
    def cold_post(self) -> HookResult | None:
        if not self.has("agent_post_iteration"):
            return None
        ran = self.run(self._argv("agent_post_iteration >&2"))
        return None if ran.status == TOO_LONG else HookResult("agent_post_iteration", ran.status, "", ran.err)

    def watched(self) -> list[Watched]:
        self.optional()
        return self._watched
