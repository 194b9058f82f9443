"""Lifting: a hook that is nothing but a filter runs in this process instead of one ``jq`` per line.

The seam::

    lifted = lift(definition, functions=names_of_functions_and_aliases, jq=JqFacts.of("jq"))
    if isinstance(lifted, Refused):
        lifted.reason                       # for people; bash runs the hook
    else:
        running = lifted.run(arguments, variables, stdin, oracle=oracle)   # may raise NotLifted: bash runs it
        for printed in running: ...
        running.status

`definition` is what ``declare -f`` prints. `variables` holds the globals named in ``lifted.reads`` that are set,
and IFS if it isn't the usual one. ``lifted.file`` is the number of the argument that names the input file, or None
for stdin. `oracle(data)` runs the same hook in bash with `data` as its input, in the same way: on stdin, or in
a file whose name stands in the place of that argument.

How it is exact. bashlex parses the function, :mod:`recognise` accepts a few commands with a few options, and
:mod:`jqlang` runs the part of the jq language on which jq 1.6 to 1.8 agree. What is outside is refused, with a
reason. Within it, a line whose output depends on the version or on a corner that isn't modelled is a
*doubt*: it is given to bash, that is to the jq that is installed. These lines are doubts:

1. Not UTF-8. bash 5.2 moreover joins a line that ends in an incomplete sequence with the next: both go together.
2. A number that is printed, compared or calculated with, unless it is an integer up to 2**53 or a fraction of at
   most 15 digits, without a zero at its end, from a thousandth up; a printed zero where there is a ``-0``.
3. More than 256 brackets; byte 0x1E; half a surrogate pair; DEL in a string printed as JSON.
4. No JSON in a way that versions may differ on (nan and its kin, control characters). Plain garbage isn't one.
5. An error that leaves a program with ``try`` or ``(…)?`` (before 1.7 they catch errors behind them, too), or
   that a ``?`` drops within first, limit, any, all.
6. Values for which a built-in was changed (has of null, ltrimstr of a number, …): see ``jqlang/builtins.py``.
7. Any error, where jq's stderr isn't sent to /dev/null: the message is jq's.

jq's status after what is no JSON depends on the version (4 in 1.6, 2 later): :class:`JqFacts` asks the jq.

A pipeline over a whole input (``jq … "$1" | tail -n 1``) that is in doubt is run by bash as a whole, if it reads a
file; on a pipe, bash gets the line, or, where values may go on over lines, all that is left (kept in memory).
The variables that a hook leaves behind (``line``) aren't set.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bridge.stream.lift.builder import Builder, check_flow, input_file
from bridge.stream.lift.either import EitherRun
from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.flow import FlowRun, local
from bridge.stream.lift.hook import Hook, dissect
from bridge.stream.lift.lines import chunks, is_binary
from bridge.stream.lift.recognise import recognise
from bridge.stream.lift.running import LoopRun, Outcome
from bridge.stream.lift.shelltree import Loop
from bridge.stream.lift.words import Word, expand, names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

__all__ = ["JqFacts", "Lifted", "NotLifted", "Outcome", "Refused", "Running", "lift"]

_STRANGE = frozenset({"xpg_echo", "xtrace", "verbose", "noexec", "nocasematch", "posix"})
_VERSION = re.compile(r"jq-1\.[6-8](?:\.[0-9]+)?(?:[-+].*)?")


@dataclass(frozen=True, slots=True)
class JqFacts:
    """The ``jq`` that the hook would find.

    Attributes:
        version: what ``jq --version`` says.
        not_json: its status after a line that is no JSON (1.6 ends with another than the others).
        extended: there is a file ``~/.jq``, whose definitions it would read.
    """

    version: str
    not_json: int | None = None
    extended: bool = False

    @classmethod
    def of(cls, command: str = "jq") -> JqFacts | None:
        """Ask it; None where there is none."""
        import subprocess

        try:
            done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False, timeout=10)
            bad = subprocess.run([command, "."], input=b"no", capture_output=True, check=False, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return None
        own = os.path.expanduser("~/.jq")
        return cls((done.stdout or done.stderr).strip(), bad.returncode, os.path.isfile(own))


@dataclass(frozen=True, slots=True)
class Refused:
    """A hook that bash runs, and why."""

    reason: str


class Running:
    """The output of one run, piece by piece; complete lines come out before more input is asked for.

    Attributes:
        status: exit status; meaningful at the end.
    """

    def __init__(self, run: LoopRun | FlowRun | EitherRun, pieces: Iterable[bytes], *, ignored: bool) -> None:
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
        values = self._values(arguments, variables, "nounset" in options)
        pipefail = "pipefail" in options
        errexit = "errexit" in options and not self._hook.ignored
        builder = Builder(values, pipefail=pipefail, errexit=errexit, not_json=self._not_json)
        stages = self._hook.main.stages
        file = input_file(self._hook.main)
        path = None if file is None else os.path.join(folder, expand(file, values))
        run: LoopRun | FlowRun | EitherRun
        if self._hook.otherwise is not None:
            assert path is not None
            run = self._either(path, values, pipefail, errexit, oracle, on_error)
        elif len(stages) == 1 and isinstance(stages[0], Loop):
            run = builder.loop_run(stages[0], oracle, on_error)
        else:
            whole = None if path is None else lambda: Path(path).read_bytes()
            run = FlowRun(builder.stages(stages), builder.engines, oracle, on_error, whole, pipefail)
            check_flow(run, ignored=self._hook.ignored)
            if path is not None and run.greps and is_binary(_content(path)):
                raise NotLifted("its file is binary for grep: a NUL, or no UTF-8")
        pieces = chunks(stdin) if path is None else _content(path)
        return Running(run, pieces, ignored=self._hook.ignored)

    def _either(
        self,
        path: str,
        values: Mapping[str, str],
        pipefail: bool,
        errexit: bool,
        oracle: Callable[[bytes], Outcome],
        on_error: Callable[[bytes], object],
    ) -> EitherRun:
        first, second = self._hook.main.stages[0], self._hook.otherwise
        assert isinstance(first, Loop)
        assert second is not None

        def start(loop: Loop, ask: Callable[[bytes], Outcome]) -> LoopRun:
            # Each run with engines of its own: the first loop is tried on lines while it runs.
            builder = Builder(values, pipefail=pipefail, errexit=errexit, not_json=self._not_json)
            return builder.loop_run(loop, ask, on_error)

        return EitherRun(start, (first, second), lambda: _content(path), oracle)

    def _values(self, arguments: Sequence[str], variables: Mapping[str, str], nounset: bool) -> dict[str, str]:
        values = {name: value for name, value in variables.items() if name in self.reads or name == "IFS"}
        values.update({str(number): value for number, value in enumerate(arguments, 1)})
        wanted = [] if nounset else [*self.reads, *map(str, range(1, 10))]
        for name in wanted:
            values.setdefault(name, "")
        for assign in self._hook.setup:
            assert not hasattr(assign.value, "body")
            if assign.value or not assign.local:
                values[assign.name] = expand(assign.value, values, splits=False)
            else:
                values.pop(assign.name, None)
                if not nounset:
                    values[assign.name] = ""
        return values


def _content(path: str) -> Iterator[bytes]:
    """The chunks of a file.

    Raises:
        NotLifted: it is no readable, regular file.
    """
    try:
        stream = open(path, "rb")  # noqa: SIM115 — the generator closes it
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
            raise NotLifted(f"the installed jq says it is {jq.version!r}: known are 1.6 to 1.8")
        if jq is not None and jq.extended:
            raise NotLifted("jq reads definitions from ~/.jq")
        hook = dissect(recognise(definition, functions))
        file = _checked(hook)
    except NotLifted as error:
        return Refused(str(error))
    return Lifted(hook.reads, file, hook, None if jq is None else jq.not_json)


def _checked(hook: Hook) -> int | None:
    file = input_file(hook.main)
    _trial(hook)
    assigned = {assign.name: assign.value for assign in hook.setup}
    number = None if file is None else _argument(file, assigned)
    if any(_argument(guard, assigned) != number for guard in hook.guards):
        raise NotLifted("a test of another file than the one that it reads")
    return number


def _trial(hook: Hook) -> None:
    """Compile it with what is known now: what is refused whatever the values are is refused here."""
    known: dict[str, str] = {}
    for assign in hook.setup:
        if isinstance(assign.value, tuple):
            known[assign.name] = _sample(assign.value, known)
    for name in (*hook.reads, *map(str, range(1, 10))):
        known.setdefault(name, "")
    builder = Builder(known)
    stages = hook.main.stages
    if len(stages) == 1 and isinstance(stages[0], Loop):
        builder.body(stages[0])
        if hook.otherwise is not None:
            Builder(known).body(hook.otherwise)
    else:
        made = builder.stages(stages)
        if input_file(hook.main) is None and not local(made):
            raise NotLifted("head, tail or tr -d '\\n' on a pipe")


def _sample(word: Word, known: Mapping[str, str]) -> str:
    return expand(word, {**dict.fromkeys(names(word), ""), **known}, splits=False)


def _argument(file: Word, assigned: Mapping[str, object]) -> int:
    """The argument that a file's name is, followed through assignments."""
    seen: set[str] = set()
    while True:
        if len(file) != 1 or isinstance(file[0], str) or file[0].default not in (None, "/dev/stdin"):
            raise NotLifted("its file is not simply an argument")
        name = file[0].name
        if name.isdigit():
            return int(name)
        value = assigned.get(name)
        if name in seen or not isinstance(value, tuple):
            raise NotLifted(f"its file ${name} is not an argument")
        seen.add(name)
        file = value
