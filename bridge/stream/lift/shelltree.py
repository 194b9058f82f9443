"""The tree of a hook, as far as hooks are lifted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from bridge.stream.lift.jqlang.line import Options
    from bridge.stream.lift.words import Word

__all__ = [
    "AndOr",
    "Assign",
    "Capture",
    "Continue",
    "If",
    "Jq",
    "Loop",
    "Not",
    "Nothing",
    "Pipeline",
    "Present",
    "Return",
    "Say",
    "Sequence",
    "Source",
    "Statement",
    "Test",
    "Tool",
]


@dataclass(frozen=True, slots=True)
class Say:
    """``echo WORD``, ``printf '%s\\n' WORD`` and their kin: `options`: the word may be options of echo."""

    word: Word
    end: str = "\n"
    options: bool = False


@dataclass(frozen=True, slots=True)
class Jq:
    """One jq command.

    Attributes:
        arguments: (name, value, whether it is JSON).
        quiet: its stderr goes to /dev/null; else an error is a matter for the real one.
        mute: its stdout, too.
        here: the word of ``<<<``.
        file: the word of ``< file``, or the one file among its arguments.
    """

    program: Word
    options: Options
    arguments: tuple[tuple[str, Word, bool], ...] = ()
    quiet: bool = False
    here: Word | None = None
    file: Word | None = None
    mute: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """grep, head, tail, tr, sed or cat: its words without the name; `file` as with jq."""

    name: str
    words: tuple[str, ...]
    quiet: bool = False
    file: Word | None = None


@dataclass(frozen=True, slots=True)
class Present:
    """``grep -a ''``: every line passes, and without any it fails."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """``a | b | c``."""

    stages: tuple[Say | Jq | Tool | Loop | Pipeline | Present, ...]
    ignored: bool = False  # { …; } with || true around the last ones


@dataclass(frozen=True, slots=True)
class Capture:
    """``$(…)`` as the value of a variable."""

    body: Statement


@dataclass(frozen=True, slots=True)
class Assign:
    """``name=value``; `local`: its status is 0 whatever the value's."""

    name: str
    value: Word | Capture
    local: bool = False


@dataclass(frozen=True, slots=True)
class Test:
    """``[ -n WORD ]``, ``[ A = B ]``; `pattern` for a prefix in ``[[ $a == b* ]]``."""

    operator: str
    left: Word
    right: Word = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """``true``, ``:``, ``false``."""

    status: int = 0


@dataclass(frozen=True, slots=True)
class Continue:
    """``continue``."""


@dataclass(frozen=True, slots=True)
class Return:
    """``return N``, of a guard that isn't met."""


@dataclass(frozen=True, slots=True)
class Not:
    """``! command``."""

    statement: Statement


@dataclass(frozen=True, slots=True)
class AndOr:
    """``left && right``, ``left || right``."""

    word: str
    left: Statement
    right: Statement


@dataclass(frozen=True, slots=True)
class If:
    """``if test; then yes; else no; fi``."""

    test: Statement
    yes: Statement
    no: Statement | None


@dataclass(frozen=True, slots=True)
class Sequence:
    """Statements one after the other."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the input of the hook comes from: a file, or stdin for None."""

    file: Word | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """``while IFS= read -r name; do body; done``.

    Attributes:
        strip: no ``IFS=``: blanks and tabs around a line go.
        last: a last line without newline counts (``|| [ -n "$name" ]``).
        file: the word of ``< file`` behind ``done``.
    """

    name: str
    body: Statement
    strip: bool = False
    last: bool = False
    file: Word | None = None


Statement: TypeAlias = (
    Say
    | Jq
    | Tool
    | Present
    | Pipeline
    | Assign
    | Test
    | Nothing
    | Continue
    | Return
    | Not
    | AndOr
    | If
    | Sequence
    | Loop
)
