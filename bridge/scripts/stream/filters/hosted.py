"""The filters of a script in its living bash: a hook that is a loop over lines, and a driver's program."""

from __future__ import annotations

import os
import re
import signal
import stat
from typing import TYPE_CHECKING, NamedTuple

from bridge.scripts.stream.filters.loops import JqProgram, LineLoop, Marks
from bridge.scripts.stream.filters.recognise import recognise
from bridge.scripts.stream.filters.running import NOWHERE, FilterRun, Jobs
from bridge.scripts.stream.filters.shelltext import NotUnderstood
from bridge.shell.protocol import quote
from bridge.shell.sources import Source, source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.scripts.stream.filters.loops import LoopHook
    from bridge.shell import Shell
    from bridge.shell.jobs import Errors

_LEFT = 128 + signal.SIGPIPE  # what a filter ends with whose reader has gone
_STRANGE = frozenset({"xpg_echo", "xtrace", "verbose", "noexec", "nocasematch", "posix"})
_VERSION = re.compile(r"jq-1\.[6-8](?:\.[0-9]+)?(?:[-+].*)?")


class _Expanded(NamedTuple):
    """What bash makes of the words of a hook, with the arguments of this call: the file that the loops read (None:
    the hook's stdin), and each with its program."""

    file: str | None
    loops: tuple[tuple[LineLoop, JqProgram], ...]


class HookRun:
    """A hook at work in one jq; it stands where `bridge.shell.jobs.Job` stands for one that bash runs.

    Args:
        starts: for each of its loops: what starts it. A later one runs when those before have printed nothing.
        succeeds: its status is 0 whatever happens.
    """

    def __init__(self, starts: Sequence[Callable[[], FilterRun]], *, succeeds: bool) -> None:
        self._run, self._later = starts[0](), list(starts[1:])
        self._succeeds = succeeds
        self._status: int | None = None

    @property
    def status(self) -> int | None:
        return self._status

    def read(self) -> bytes:
        while (piece := self.read_within(None)) is None:
            pass
        return piece

    def read_within(self, seconds: float | None) -> bytes | None:
        while True:
            piece = self._run.read_within(seconds)
            if piece != b"" or self._status is not None:
                return piece
            if self._run.spoke or not self._later:
                self._status = 0 if self._succeeds else self._run.status()
                return b""
            self._run.close()
            self._run = self._later.pop(0)()

    def terminate(self) -> None:
        self._status = _LEFT if self._status is None else self._status
        self._run.terminate()

    def close(self) -> None:
        self._status = _LEFT if self._status is None else self._status
        self._run.close()


class HostedFilter:
    """One hook of the script that a bash has sourced."""

    def __init__(self, shell: Shell, hook: str) -> None:
        self._shell = shell
        self._hook = hook
        self._seen = ""
        self._found: LoopHook | str = ""
        self._tried: dict[tuple[str, ...], str] = {}

    def why_not(self) -> str:
        """Why bash runs the hook as it is defined now; nothing when one jq does."""
        try:
            self._expanded(self._recognised(), (os.devnull,))
        except NotUnderstood as reason:
            return str(reason)
        return ""

    def display(self, stream: object, *, end_lines: bool, stderr: Errors) -> HookRun | None:
        """Run it on `stream`; None when bash has to: nothing was read then."""
        usable = self._usable(())
        if usable is None or usable[1].file is not None:
            return None
        source = source_of(stream, end_lines=end_lines)
        return self._run(*usable, (), lambda: source, stderr)

    def extract(self, path: str, *, stderr: Errors) -> HookRun | None:
        usable = self._usable((path,))
        file = usable[1].file if usable is not None else None
        if usable is None or file is None or not os.path.isfile(file) or not os.access(file, os.R_OK):
            return None
        return self._run(*usable, (path,), lambda: _File(file), stderr)

    def _usable(self, arguments: Sequence[str]) -> tuple[LoopHook, _Expanded] | None:
        try:
            found = self._recognised()
            return found, self._expanded(found, arguments)
        except NotUnderstood:
            return None

    def _run(
        self,
        found: LoopHook,
        expanded: _Expanded,
        arguments: Sequence[str],
        source: Callable[[], Source],
        stderr: Errors,
    ) -> HookRun:
        def start(loop: LineLoop, program: JqProgram) -> Callable[[], FilterRun]:
            code = _function(f"{found.setup}{loop.text}", arguments)
            return lambda: FilterRun(loop, program, source(), Jobs(self._shell, ("eval", code), stderr))

        return HookRun([start(*each) for each in expanded.loops], succeeds=found.succeeds)

    # -- what is to be run -------------------------------------------------------------------------------

    def _recognised(self) -> LoopHook:
        """The function as it is defined now: an earlier hook may have changed it."""
        definition = self._shell.call("declare", "-f", self._hook).stdout
        if definition != self._seen:
            others = [name for name in self._shell.functions() if name != self._hook]
            try:
                self._found = recognise(definition, others)
            except NotUnderstood as reason:
                self._found = str(reason)
            self._seen = definition
        if isinstance(self._found, str):
            raise NotUnderstood(self._found)
        return self._found

    def _expanded(self, found: LoopHook, arguments: Sequence[str]) -> _Expanded:
        """Let bash expand the words, and try the programs; NotUnderstood: not with these values."""
        show = "\\builtin printf '%s\\0' "
        lists = [[*filter(None, [found.loops[0].file])], *(loop.jq.words for loop in found.loops)]
        shown = [f'( set -- {" ".join(words)}; {show}"$#" "$@" )' for words in lists]
        options = '"${SHELLOPTS-}:${BASHOPTS-$(\\builtin shopt -s)}"'  # BASHOPTS is newer than bash 4.0
        shown.append(f'{show}"${{IFS+=}}${{IFS-}}" {options} "$PWD" "${{HOME-}}" "${{PATH-}}"')
        with self._shell.start("eval", _function(found.setup + "\n".join(shown), arguments), stderr=NOWHERE) as job:
            left = iter(b"".join(iter(job.read, b"")).decode("utf-8", "surrogateescape").split("\0"))
        try:
            counted = [[next(left) for _ in range(int(next(left)))] for _ in lists]
            ifs, options, folder, home, path, _ = left
        except (ValueError, StopIteration):
            raise NotUnderstood("its words can't be expanded, or what it tests doesn't hold") from None
        if strange := _STRANGE.intersection(re.split(r"[:\s]", options)):
            raise NotUnderstood(f"the shell option {min(strange)}")
        if ifs not in ("", "= \t\n") and any(loop.strip for loop in found.loops):
            raise NotUnderstood("IFS is not the usual one")
        if len(counted[0]) > 1:
            raise NotUnderstood("its file is several words")
        programs = [JqProgram.of(words) for words in counted[1:]]
        for loop, program in zip(found.loops, programs, strict=True):
            if program.judged and loop.on_failure is not None:
                raise NotUnderstood("jq -e, and what is done when it fails")
            if program.joined and len(found.loops) > 1:
                raise NotUnderstood("two loops, and jq -j")
            self._try(program, home, path)
        file = os.path.join(folder, counted[0][0]) if counted[0] else None
        return _Expanded(file, tuple(zip(found.loops, programs, strict=True)))

    def _try(self, program: JqProgram, home: str, path: str) -> None:
        words = (*program.options, program.text)
        key = (home, path, *words)
        if key not in self._tried:
            self._tried[key] = self._unusable(home) or refused(self._shell, program)
        if self._tried[key]:
            raise NotUnderstood(self._tried[key])

    def _unusable(self, home: str) -> str:
        """What keeps the jq of this shell from running any program over many lines."""
        if not self._shell.call("type", "-P", "jq").ok:
            return "no jq on PATH"
        version = self._shell.call("jq", "--version").stdout.strip()
        if not _VERSION.fullmatch(version):
            return f"the installed jq says it is {version!r}: known are 1.6 to 1.8"
        return "jq reads definitions from ~/.jq" if os.path.isfile(os.path.join(home, ".jq")) else ""


def refused(shell: Shell, program: JqProgram) -> str:
    """Why the jq of this shell doesn't take the program as it stands, or as a run has it; nothing when it does."""
    for text in (program.text, Marks.new().around(program.text)):
        tried = shell.call("jq", *program.options, text)
        if not tried.ok:
            return f"jq doesn't take its program: {(tried.stderr.splitlines() or [''])[0]}"
    return ""


class _File(Source):
    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 — closed below
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            self._file.close()

    def take(self) -> bytes | None:
        return b"" if self._file.closed else self._file.read(1 << 16)

    def close(self) -> None:
        self._file.close()


def _function(body: str, arguments: Sequence[str]) -> str:
    return f"__rb_filter() {{\n{body}\n}}\n__rb_filter {' '.join(map(quote, arguments))}"
