"""What can be wrong with an adapter file, and how that is said."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Kind", "Problem", "meant"]

Kind = Literal[
    "yaml", "type", "vital", "resource", "pattern", "missing", "unknown", "value", "duplicate", "rule", "note"
]
_ALWAYS_ERRORS = frozenset({"yaml", "type", "vital", "resource"})
_STRICT_ERRORS = frozenset({"pattern", "missing", "value", "rule"})


class Problem(NamedTuple):
    """One thing that is wrong.

    Attributes:
        source: the file, or what stands for it.
        line: counted from 1.
        key: path of the key, such as ``output.input_echo_strategy`` or ``tests[2].expect``; may be empty.
        kind: what sort of problem; tells whether it stops loading.
        message: what is wrong, with the value that was found and what was expected.
        fatal: it stops loading, whatever its kind says.
    """

    source: str
    line: int
    key: str
    kind: Kind
    message: str
    fatal: bool = False

    def is_error(self, *, strict: bool = False) -> bool:
        """Whether it stops loading, or with `strict` fails the check; otherwise it is a warning."""
        return self.fatal or self.kind in _ALWAYS_ERRORS or (strict and self.kind in _STRICT_ERRORS)

    def level(self, *, strict: bool = False) -> Literal["error", "warning", "note"]:
        """How bad it is; a note is about something that does no harm."""
        if self.is_error(strict=strict):
            return "error"
        return "note" if self.kind == "note" else "warning"

    def text(self, *, strict: bool = False) -> str:
        """The problem on one line: ``FILE:LINE: error: KEY: what is wrong``."""
        return (
            f"{self.source}:{self.line}: {self.level(strict=strict)}: "
            + (f"{self.key}: " if self.key else "")
            + self.message
        )


def meant(word: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` when something known is close to `word`, else nothing."""
    folded = {each.casefold().replace("-", "_"): each for each in known}
    close = difflib.get_close_matches(word.casefold().replace("-", "_"), folded, 1, 0.6)
    return f"; did you mean {folded[close[0]]}?" if close else ""
