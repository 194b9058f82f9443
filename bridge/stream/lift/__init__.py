"""Lifting: a hook that is nothing but a filter runs in this process instead of one ``jq`` per line.

The seam::

    lifted = lift(definition, functions=names_of_functions_and_aliases, jq=JqFacts.of("jq"))
    if isinstance(lifted, Refused):
        lifted.reason                       # for people; bash runs the hook
    else:
        running = lifted.run(arguments, variables, stdin, oracle=oracle)   # may raise NotLifted: bash runs it
        for printed in running: ...
        running.status

`definition` is what ``declare -f`` prints. `variables` holds the globals named in ``lifted.reads`` that are set.
`oracle(data)` runs the same hook in bash, on `data` as its input: as its stdin, or, where ``lifted.file``
says so, with a file of that content in the place of that argument.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from bridge.stream.lift.body import Body
from bridge.stream.lift.either import EitherRun
from bridge.stream.lift.faults import Doubt, NotLifted
from bridge.stream.lift.hook import Hook, dissect
from bridge.stream.lift.lines import chunks
from bridge.stream.lift.recognise import recognise
from bridge.stream.lift.running import LoopRun, Outcome
from bridge.stream.lift.shelltree import Loop
from bridge.stream.lift.words import Word, expand, names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from bridge.stream.lift.jqline import JqLine

__all__ = ["JqFacts", "Lifted", "NotLifted", "Outcome", "Refused", "Running", "lift"]

_STRANGE = frozenset({"xpg_echo", "xtrace", "verbose", "noexec", "nocasematch", "posix"})
_VERSION = re.compile(r"jq-1\.[5-8](?:\.[0-9]+)?(?:[-+].*)?")


@dataclass(frozen=True, slots=True)
class JqFacts:
    """The ``jq`` that the hook would find.

    Attributes:
        version: what ``jq --version`` says.
        not_json: its status after a line that is no JSON (1.6 ends with another than the others).
    """

    version: str
    not_json: int | None = None

    @classmethod
    def of(cls, command: str = "jq") -> JqFacts | None:
        """Ask it; None where there is none."""
        import subprocess

        try:
            done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False, timeout=10)
            bad = subprocess.run([command, "."], input=b"no", capture_output=True, check=False, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return cls((done.stdout or done.stderr).strip(), bad.returncode)


@dataclass(frozen=True, slots=True)
class Refused:
    """A hook that bash runs, and why."""

    reason: str


class Running:
    """The output of one run, piece by piece; complete lines come out before more input is asked for.

    Attributes:
        status: exit status; meaningful at the end.
    """

    def __init__(self, run: LoopRun | EitherRun, pieces: Iterable[bytes], *, ignored: bool) -> None:
        self._run = run
        self._ignored = ignored
        self._output = run.run(pieces)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._output)

    @property
    def status(self) -> int:
        """Exit status of what has run so far."""
        return 0 if self._ignored else self._run.status


@dataclass(frozen=True, slots=True)
class Lifted:
    """A hook that runs in process.

    Attributes:
        reads: the globals that it uses.
        file: number of the argument that names its input file ("1" for ``$1``); None: it reads stdin.
    """

    reads: frozenset[str]
    file: int | None
    _hook: Hook
    _not_json: int | None

    def run(
        self,
        arguments: Sequence[str],
        variables: Mapping[str, str],
        stdin: Iterable[bytes] | BinaryIO | None,
        *,
        oracle: Callable[[bytes], Outcome],
        options: Collection[str] = (),
        folder: str | os.PathLike[str] = ".",
        on_error: Callable[[bytes], object] = lambda _: None,
    ) -> Running:
        """Start it.

        Args:
            arguments: of the hook.
            variables: those of `reads` that are set, and IFS.
            stdin: its input, unless it reads a file: lines, or chunks of any size.
            oracle: runs the same hook in bash.
            options: shell options that are on (``set -o`` and ``shopt``), errexit only where it acts.
            folder: where bash is, for a relative file name.
            on_error: takes what goes to stderr.

        Raises:
            NotLifted: not with these values: bash has to run it. Nothing was read.
        """
        strange = _STRANGE.intersection(options)
        if strange:
            raise NotLifted(f"the shell option {min(strange)}")
        loop = self._hook.main.stages[0]
        assert isinstance(loop, Loop)
        values = self._values(arguments, variables, "nounset" in options)
        if loop.strip and values.get("IFS", " \t\n") != " \t\n":
            raise NotLifted("IFS is not the usual one")
        errexit = "errexit" in options and not self._hook.ignored

        def start(loop: Loop, oracle: Callable[[bytes], Outcome]) -> LoopRun:
            engines: list[JqLine] = []
            compiled = Body(values, "pipefail" in options, self._not_json, engines).per_line(loop.body)

            def body(line: dict[str, str], given: str | None, out: list[str]) -> int:
                return compiled({**values, **line}, given, out)

            return LoopRun(loop, body, engines, oracle, on_error, errexit)

        if loop.file is None:
            return Running(start(loop, oracle), chunks(stdin), ignored=self._hook.ignored)
        path = expand(loop.file, values)
        pieces = _content(path, folder)
        if self._hook.otherwise is not None:
            loops = (loop, self._hook.otherwise)
            either = EitherRun(start, loops, lambda: _content(path, folder), oracle)
            return Running(either, pieces, ignored=False)
        return Running(start(loop, oracle), pieces, ignored=self._hook.ignored)

    def _values(self, arguments: Sequence[str], variables: Mapping[str, str], nounset: bool) -> dict[str, str]:
        values = {name: value for name, value in variables.items() if name in self.reads or name == "IFS"}
        values.update({str(number): value for number, value in enumerate(arguments, 1)})
        wanted = [] if nounset else [*self.reads, *map(str, range(1, 10))]
        for name in wanted:
            values.setdefault(name, "")
        for assign in self._hook.setup:
            assert not hasattr(assign.value, "body")
            if assign.value or not assign.local:
                values[assign.name] = expand(assign.value, values, splits=False)  # type: ignore[arg-type]
            else:
                values.pop(assign.name, None)
                if not nounset:
                    values[assign.name] = ""
        return values


def _content(path: str, folder: str | os.PathLike[str]) -> Iterator[bytes]:
    """The chunks of a file.

    Raises:
        NotLifted: it is no readable, regular file.
    """
    try:
        stream = open(os.path.join(folder, path), "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise NotLifted(f"its file: {error}") from error
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise NotLifted("its file is not a regular one")

    def read() -> Iterator[bytes]:
        with stream:
            yield from chunks(stream)

    return read()


def lift(definition: str, *, functions: Collection[str] = (), jq: JqFacts | None = None) -> Lifted | Refused:
    """Look whether a function can run in process.

    Args:
        definition: what ``declare -f NAME`` prints.
        functions: names of all functions and aliases of the script.
        jq: the installed one; None: there is none, or it is the one that we provide.
    """
    try:
        if jq is not None and not _VERSION.fullmatch(jq.version):
            raise NotLifted(f"the installed jq says it is {jq.version!r}: known are 1.5 to 1.8")
        hook = dissect(recognise(definition, functions))
        file = _checked(hook)
    except NotLifted as error:
        return Refused(str(error))
    return Lifted(hook.reads, file, hook, None if jq is None else jq.not_json)


def _checked(hook: Hook) -> int | None:
    loop = hook.main.stages[0]
    if len(hook.main.stages) != 1 or not isinstance(loop, Loop):
        raise NotLifted("a pipeline over the whole input")
    assigned = {assign.name: assign.value for assign in hook.setup}
    _trial(hook, loop)
    if hook.otherwise is not None:
        _trial(hook, hook.otherwise)
    return None if loop.file is None else _argument(loop.file, assigned)


def _trial(hook: Hook, loop: Loop) -> None:
    """Compile it with what is known now: what is refused whatever the values are is refused here."""
    known: dict[str, str] = {}
    for assign in hook.setup:
        if isinstance(assign.value, tuple):
            known[assign.name] = _sample(assign.value, known)
    for name in (*hook.reads, *map(str, range(1, 10))):
        known.setdefault(name, "")
    try:
        Body(known, False, None, []).per_line(loop.body)
    except Doubt:
        raise NotLifted("a doubt") from None


def _sample(word: Word, known: Mapping[str, str]) -> str:
    return expand(word, {**dict.fromkeys(names(word), ""), **known}, splits=False)


def _argument(file: Word, assigned: Mapping[str, object]) -> int:
    """The argument that a file's name is, followed through assignments."""
    seen: set[str] = set()
    while True:
        if len(file) != 1 or isinstance(file[0], str) or file[0].default is not None:
            raise NotLifted("its file is not simply an argument")
        name = file[0].name
        if name.isdigit():
            return int(name)
        value = assigned.get(name)
        if name in seen or not isinstance(value, tuple):
            raise NotLifted(f"its file ${name} is not an argument")
        seen.add(name)
        file = value
