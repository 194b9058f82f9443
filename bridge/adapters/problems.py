"""What can be wrong with an adapter file, and how it is reported."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal[
    "yaml", "type", "vital", "resource", "pattern", "missing", "unknown", "value", "duplicate", "rule", "note"
]
_ALWAYS_ERRORS = frozenset({"yaml", "type", "vital", "resource"})
_STRICT_ERRORS = frozenset({"pattern", "missing", "value", "rule"})


class AdapterProblem(NamedTuple):
    """One problem of an adapter file.

    Attributes:
        source: the file, or a name for where the text came from.
        line: counted from 1.
        key: path of the key, such as ``output.input_echo_strategy`` or ``tests[2].expect``; may be empty.
        kind: its category, which decides whether it stops loading.
        message: the value that was found and what was expected.
        fatal: it stops loading, whatever its kind.
    """

    source: str
    line: int
    key: str
    kind: Kind
    message: str
    fatal: bool = False

    def is_error(self, *, strict: bool = False) -> bool:
        return self.fatal or self.kind in _ALWAYS_ERRORS or (strict and self.kind in _STRICT_ERRORS)

    def level(self, *, strict: bool = False) -> Literal["error", "warning", "note"]:
        if self.is_error(strict=strict):
            return "error"
        return "note" if self.kind == "note" else "warning"

    @property
    def at_run_time(self) -> bool:
        """Whether every session tells of it: something that is given is ignored, as the schema demands."""
        return self.key in ("prompt.continuation", "prompt.continuation_escape")

    def text(self, *, strict: bool = False) -> str:
        """The problem on one line: ``FILE:LINE: error: KEY: message``."""
        key = f"{self.key}: " if self.key else ""
        return f"{self.source}:{self.line}: {self.level(strict=strict)}: {key}{self.message}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` when a known word is close to `word`, else nothing."""
    folded = {each.casefold().replace("-", "_"): each for each in known}
    close = difflib.get_close_matches(word.casefold().replace("-", "_"), folded, 1, 0.6)
    return f"; did you mean {folded[close[0]]}?" if close else ""
