"""A script in a living bash, watched: what each call answered, and what it changed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

from bridge.base.process.ladder import send
from bridge.base.process.table import command_of, environments
from bridge.errors import HookError
from bridge.shell import Shell
from bridge.shell.protocol import quote
from bridge.verify.budget import strain
from bridge.verify.command_line import beyond
from bridge.verify.probe.bench import DEADLINE, SEVERAL, Bench
from bridge.verify.probe.box import box
from bridge.verify.probe.state import (
    CAPTURE,
    DEFINE,
    TROUBLE,
    TROUBLES,
    HookResult,
    Loading,
    ProbeFailed,
    RunCommand,
    ShellState,
    Watched,
    state_of,
)
from bridge.verify.recordings import recording_beside, recordings_of, unmarked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from bridge.shell import Reply
    from bridge.verify.budget import Budget
    from bridge.verify.probe.commands import Build
    from bridge.verify.probe.scratch import FileChange
    from bridge.verify.recordings import Recording

_WHILE = 0.5
"""Seconds after which what still runs in the background was meant to go on."""

_ASKED_FOR = re.compile(r"""(?:command\s+-[vV]|type\s+-[pPt]+|which|hash)\s+["']?([A-Za-z][\w.+-]*)["']?""")
_HEAD = re.compile(r"^(?=(?:function )?[^\s()]+ \(\) *$)", re.MULTILINE)
"""In front of each function that ``declare -f`` prints."""
_NAME = re.compile(r"(?:function )?([^\s()]+) \(\)")
_OTHERWISE = {
    "CLAUDE_OUTPUT_FORMAT": "text",
    "CLAUDE_PERMISSION_MODE": "plan",
    "CLAUDE_ALLOWED_TOOLS": "Read",
    "CLAUDE_USE_CONTINUE": "false",
    "CONTEXT_WARN_PCT": "71",
}
"""Settings of loops as few have them."""
_P = TypeVar("_P", bound="Probe")
_T = TypeVar("_T")


def once(observe: Callable[[_P], _T]) -> Callable[[_P], _T]:
    """Mark an observation that runs the script: it is made by the first call, and later calls give it again.

    What could not be seen on the way could not be seen by the later ones either.
    """
    key = f"_observed_{observe.__name__}"

    @wraps(observe)
    def observed(probe: _P) -> _T:
        made = vars(probe)
        if key not in made:
            before = len(probe.unseen)
            found = observe(probe)
            made[key] = (found, probe.unseen[before:])
            return found
        again: tuple[_T, list[str]] = made[key]
        probe.unseen += again[1]
        return again[0]

    return observed


class Probe(Bench):
    """The part that drivers and agents share. Observations are made on demand and only once."""

    def __init__(
        self, script: Path, bash: str, budget: Budget, deadline: float = DEADLINE, trace: str = ""
    ) -> None:
        super().__init__(script, bash, budget, deadline, trace)
        self._marks: set[int] = set()
        self.file_changes: list[tuple[str, FileChange]] = []
        self.exits: list[HookResult] = []
        self.unseen: list[str] = []
        """Since the engine last emptied it: why something that was looked at could not be seen."""
        self._guards = ""
        self._shell: Shell | None = None
        self._stuck: dict[str, HookResult] = {}
        self._watched: list[Watched] = []
        self._watching = True  # the shell is looked at before and after what is called with `watch`
        self._cli_calls: list[tuple[str, str]] = []

    def close(self) -> None:
        """End the shell and remove the scratch folders. May be repeated."""
        if self._shell is not None:
            self._shell.close()
        super().close()

    # -- loading -------------------------------------------------------------------------------------

    def prepare(self, shell: Shell) -> None:
        """Define what the host defines before it sources a script of this kind."""

    @once
    def loading(self) -> Loading:
        """Source it. The CLI is not installed at that time: a script must not depend on it before it is asked."""
        self._guess_cli()
        try:
            shell = self._shell = Shell(
                bash=self.bash,
                env=self.scratch.environment() | {"PATH": self.scratch.path_without()},
                cwd=self.scratch.project,
                timeout=self.deadline,
                output_limit=4 << 20,
                grace=0.2,
                prefix=box().prefix,
            )
            shell.execute(DEFINE)
            self._marks.add(box().mark(shell.pid))
            self.prepare(shell)
            shell.execute(self._guards)
            if self.trace:
                shell.execute(self.trace)
        except HookError as error:
            raise ProbeFailed(f"no bash to look at the script in: {error.what}") from error
        before = self.state(traps=True)
        files = self.scratch.files()
        result = self._guarded("source", lambda: shell.source(self.script))
        self.note_files("source", files)
        if result.trouble in ("hung", "died"):
            return Loading(result, before, None)
        after = self.state(traps=True)
        with contextlib.suppress(HookError):
            shell.call("eval", f"PATH={quote(self.scratch.path)}; hash -r")
        return Loading(result, before, after)

    @once
    def overruled(self) -> set[str]:
        """What sourcing it takes from a loop that has it otherwise than most: settings, and ``errexit``.

        A setting that is set to the value that it has anyway shows in such a loop alone.
        """
        names, given = zip(*_OTHERWISE.items(), strict=True)
        before = "\n".join(f"{name}={quote(value)}" for name, value in _OTHERWISE.items())
        told = " ".join(f'"${{{name}-}}"' for name in names)
        code = (
            f"{before}\nset -e\n. {quote(self.script)} >/dev/null 2>&1 || :\nbuiltin printf '%s\\0' \"$-\" {told}"
        )
        out = self.run([self.bash, "--noprofile", "--norc", "-c", code]).out.decode(errors="replace")
        flags, *values = out.split("\0")[:-1] or [""]
        if len(values) != len(names):
            return set()  # it doesn't return, which is told by others
        return {name for name, old, new in zip(names, given, values, strict=True) if old != new} | (
            set() if "e" in flags else {"errexit"}
        )

    @property
    def shell(self) -> Shell:
        """The living bash with the script in it. Raises `ProbeFailed` when sourcing it hung or killed the shell."""
        result = self.loading().result
        if self._shell is None or result.trouble in ("hung", "died"):
            raise ProbeFailed(f"the script can't be loaded: sourcing it {result.trouble or 'failed'}")
        return self._shell

    def _guess_cli(self) -> None:
        with contextlib.suppress(OSError), open(self.script, errors="replace") as file:
            text = file.read()
            self.scratch.mention(text)
            self._guards = self.scratch.stand_ins.guards(text)
            for name in _ASKED_FOR.findall(text):
                if not self.scratch.is_system_program(name):
                    self.scratch.add_cli(name)

    @once
    def functions(self) -> dict[str, str]:
        """The bodies as bash prints them, without comments, by name."""
        printed = self.shell.call("declare", "-f").stdout
        bodies = {found[1]: text for text in _HEAD.split(printed) if (found := _NAME.match(text))}
        return {name: bodies.get(name, "") for name in self.shell.functions() if "/" not in name}

    def code(self) -> list[str]:
        """All code of the script that is known: its functions, and what it has put into variables."""
        before, after = self.loading().before, self.loading().after
        names = before.new_names(after) if before is not None and after is not None else []
        values = (self.shell.get(name) for name in names)
        return [*self.functions().values(), *(f"'{value}'" for value in values if isinstance(value, str))]

    def program(self) -> str:
        raise NotImplementedError

    @once
    def marked(self) -> Recording | None:
        return recording_beside(self.script, os.path.basename(self.program()))

    def recordings(self, line: Iterable[str] | None = None) -> list[Recording]:
        """What its CLI prints: as the author has recorded it, else as we have; nothing where nobody has.

        line: the command line; then none of ours but those that it asks for.
        """
        marked = self.marked()
        return [marked] if marked is not None else recordings_of(self.program(), line)

    def unrecorded(self) -> str:
        """Why what its CLI prints can't be judged, and what has to be done so that it can."""
        cli = os.path.basename(self.program()) or "its CLI"
        how = " for such a command" if recordings_of(cli) else ""
        return f"nobody has recorded what {cli} prints{how}; {unmarked(self.script)}"

    def has(self, hook: str) -> bool:
        """Whether there is such a function: the script's, or the host's default."""
        return hook in self.functions()

    def own(self, hook: str) -> bool:
        return self.has(hook)

    def mentions(self, variable: str) -> bool:
        word = re.compile(rf"\b{variable}\b")
        return any(word.search(body) for body in self.functions().values())

    # -- calls ---------------------------------------------------------------------------------------

    def state(self, *, traps: bool = False) -> ShellState | None:
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
        self,
        hook: str,
        *arguments: str,
        array: str | None = None,
        stdin: bytes | None = None,
        watch: bool = False,
        first: str = "",
    ) -> HookResult:
        """Call a hook, after `first`; `watch` notes what it changed. One that hung is not called again."""
        if hook in self._stuck:
            return self.seen(self._stuck[hook])
        shell = self.shell
        limit = self.limit()
        if hook in ("agent_extract_response", "agent_format_display"):  # they start a jq for each line
            limit = self.patience_for(SEVERAL)
        words = (hook, *arguments)
        if first and not (watch and self._watching) and self.has(hook):  # in one exchange
            words = ("eval", f"{first}\n{' '.join(map(quote, words))}")
        elif first:
            self.evaluate(first)
        before = self.state() if watch and self._watching else None
        files = self.scratch.files() if watch else None
        self.scratch.calls()
        result = self._guarded(
            hook, lambda: shell.call(*words, stdin=stdin, timeout=limit, read=[array] if array else ())
        )
        if result.trouble == "exited":
            self.exits.append(result)
        self._cli_calls += [(hook, line) for line in self.scratch.calls()]
        if files is not None:
            self.note_files(hook, files)
        if before is not None and not result.trouble and (after := self.state()) is not None:
            self._watched.append(Watched(hook, before, after))
        return self.seen(result)

    def seen(self, result: HookResult) -> HookResult:
        """The result, with a note where the hook did not come back, so that nothing can be told from it."""
        if result.trouble:
            self.miss(f"{result.hook} {TROUBLE[result.trouble]}", "returns")
        return result

    def miss(self, what: str, remedy: str) -> None:
        """Note that something can't be judged, and what it takes."""
        self.unseen.append(f"{what}; once it {remedy}, this can be judged")

    @contextlib.contextmanager
    def by_the_way(self) -> Iterator[None]:
        """What can't be seen in here keeps nobody from judging."""
        before = len(self.unseen)
        try:
            yield
        finally:
            del self.unseen[before:]

    def commands(self, code: str) -> list[RunCommand]:
        """The commands of the script that `code` runs; but those of subshells."""
        file = self.scratch.control / "commands"
        note = (
            '[[ "$BASH_SUBSHELL" != "$__rb_level" ]] || \\builtin printf "%s\\0%s\\0%s\\0"'
            f' "$LINENO" "${{BASH_SOURCE-}}" "$BASH_COMMAND" >>{quote(str(file))}'
        )
        self.call(
            "eval",
            f"(\n__rb_level=$BASH_SUBSHELL\n\\builtin set -T\n\\builtin trap -- {quote(note)} DEBUG\n"
            f"{code} >/dev/null 2>&1\n)",
        )
        with contextlib.suppress(OSError):
            told = iter(file.read_text(errors="replace").split("\0")[:-1])
            file.unlink()
            rows = zip(told, told, told, strict=False)
            return [RunCommand(text, int(line) if source == self.script else None) for line, source, text in rows]
        return []

    def writers(self, hook: str, case: Build) -> list[tuple[int, list[str]]]:
        """The lines of the script that write the command of a case, in order, each with what is new by it."""
        file = self.scratch.control / "writers"
        note = (
            '[[ "$BASH_SUBSHELL" != "$__rb_level" ]] || {'
            ' if [[ "${#CLAUDE_CMD_ARGS[@]} ${CLAUDE_CMD_ARGS[*]-}" != "$__rb_seen" ]]; then'
            ' __rb_seen="${#CLAUDE_CMD_ARGS[@]} ${CLAUDE_CMD_ARGS[*]-}";'
            r' \builtin printf "%s\0" "$__rb_at" "$__rb_in" "${#CLAUDE_CMD_ARGS[@]}"'
            f' ${{CLAUDE_CMD_ARGS[@]+"${{CLAUDE_CMD_ARGS[@]}}"}} >>{quote(str(file))};'
            ' fi; __rb_at=$LINENO __rb_in="${BASH_SOURCE-}"; }'
        )
        words = (hook, case.prompt, case.context, case.session, *case.extra)
        self.call(
            "eval",
            f"{case.settings()}\n(\nCLAUDE_CMD_ARGS=()\n{case.host}\n"
            "__rb_level=$BASH_SUBSHELL __rb_seen='0 ' __rb_at='' __rb_in=''\n"
            f"\\builtin set -T\n\\builtin trap -- {quote(note)} DEBUG\n"
            f"{' '.join(map(quote, words))} >/dev/null 2>&1\n\\builtin :\n)",
        )
        found: list[tuple[int, list[str]]] = []
        before: list[str] = []
        with contextlib.suppress(OSError, ValueError):
            rest = iter(file.read_bytes().decode("utf-8", "surrogateescape").split("\0"))
            file.unlink()
            for line, source, count in zip(rest, rest, rest, strict=False):
                now = [next(rest) for _ in range(int(count))]
                if source == self.script and line:
                    found.append((int(line), beyond(now, before)))
                before = now
        return found

    def call_for_array(self, hook: str, *arguments: str, array: str) -> HookResult:
        """Call a hook in one exchange, with the array that it answers in emptied first; nothing else is noted."""
        elements: list[str] = []

        def run() -> Reply:
            reply, elements[:] = self.shell.call_for_array(hook, *arguments, array=array, start=())
            return reply

        return self._guarded(hook, run)._replace(value=elements)

    def _guarded(self, hook: str, run: Callable[[], Reply]) -> HookResult:
        began = time.monotonic()
        try:
            reply = run()
        except HookError as error:
            trouble = next((word for kind, word in TROUBLES.items() if isinstance(error, kind)), "died")
            if trouble == "hung" and hook != "source":
                self.cut(hook)
            if trouble == "exited" and error.state_lost:
                trouble = "died"  # bash itself ended, whatever the script called
            result = HookResult(
                hook, status=error.status or 0, stdout=error.stdout, stderr=error.stderr, trouble=trouble
            )
            if trouble != "exited":
                self._stuck[hook] = result
            return result
        self.budget.came_back(hook, time.monotonic() - began)
        value = next(iter(reply.values.values()), None)
        return HookResult(hook, status=reply.status, stdout=reply.stdout, stderr=reply.stderr, value=value)

    def evaluate(self, code: str) -> None:
        with contextlib.suppress(HookError):
            self.shell.call("eval", code)

    # -- what was seen -------------------------------------------------------------------------------

    def note_files(self, hook: str, before: dict[str, tuple[int, int, int]]) -> None:
        """Keep what a hook did to files since `before`; the project's own are put back."""
        self.file_changes += [(hook, change) for change in self.scratch.changes(before)]

    @once
    def left_running(self) -> list[str]:
        """Command lines of what hooks have started and still goes on a while after them; it is ended."""
        mine = f"TMPDIR={self.scratch.environment()['TMPDIR']}".encode()
        own = {self._shell.pid} if self._shell is not None else set()
        self._marks |= {box().mark(pid) for pid in own}  # of a bash that has taken the place of a dead one

        def left() -> list[int]:
            seen = {pid for pid, variables in environments() if mine in variables}
            return sorted((seen | {*box().marked(self._marks)}) - own)

        end = time.monotonic() + _WHILE * strain()
        while (found := left()) and time.monotonic() < end:
            time.sleep(0.02)
        commands = [command_of(pid) for pid in found]
        send(signal.SIGKILL, found)
        # A subshell that waits for what it has started is called as its bash was.
        own_names = [each for each in commands if each and not each.startswith(self.bash)]
        return list(dict.fromkeys(own_names or filter(None, commands)))

    def watched(self) -> list[Watched]:
        return self._watched

    @property
    def troubles(self) -> list[HookResult]:
        return [result for hook, result in self._stuck.items() if hook != "source"]
