"""What git prints about a working tree, read into values. Pure."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_SUMMARY_LIMIT = 147


class FileDifference(NamedTuple):
    """How a path differs from HEAD.

    Attributes:
        kind: git's sign: ``1`` changed, ``2`` renamed, ``u`` unmerged, ``?`` untracked.
        contents: tells this state of the file from another one.
    """

    kind: str
    contents: str = ""


@dataclass(frozen=True, slots=True)
class TreeState:
    """A working tree at one moment.

    Attributes:
        head: the commit that is checked out; '' before the first.
        marks: each path that differs from it or is untracked.
        branch: that is checked out; '' for a detached HEAD.
    """

    head: str = ""
    marks: Mapping[str, FileDifference] = field(default_factory=dict)
    branch: str = field(default="", compare=False)

    @property
    def dirty(self) -> bool:
        return bool(self.marks)


class FileStat(NamedTuple):
    path: str
    added: int | None
    removed: int | None


def parse_tree(data: bytes, contents: Callable[[str], str] = lambda _: "") -> TreeState:
    """Read ``git status --porcelain=v2 --branch -z --untracked-files=all``.

    Args:
        data: what it prints.
        contents: gives what tells two states of a file apart; git itself shows no more than that it differs.
    """
    head = branch = ""
    marks: dict[str, FileDifference] = {}
    fields = iter(data.decode("utf-8", "surrogateescape").split("\0"))
    for entry in fields:
        kind, _, rest = entry.partition(" ")
        if entry.startswith("# branch.oid "):
            head = "" if entry.endswith("(initial)") else entry.rpartition(" ")[2]
            continue
        if entry.startswith("# branch.head "):
            branch = "" if entry.endswith("(detached)") else entry.removeprefix("# branch.head ")
            continue
        # How many fields stand in front of the path.
        count = {"1": 7, "2": 8, "u": 9, "?": 0}.get(kind)
        if count is None:
            continue
        if kind == "2":
            next(fields, None)  # the path before the renaming
        path = rest.split(" ", count)[-1]
        marks[path] = FileDifference(kind, contents(path))
    return TreeState(head, marks, branch)


def parse_numstat(data: bytes) -> tuple[FileStat, ...]:
    """Read ``git diff --numstat -z``; a renamed file counts under its new name."""
    found = []
    fields = iter(data.decode("utf-8", "surrogateescape").split("\0"))
    for entry in fields:
        added, _, rest = entry.lstrip("\n").partition("\t")
        removed, tab, path = rest.partition("\t")
        if not tab:
            continue
        if not path:
            next(fields, None)
            path = next(fields, "")
        counts = [int(text) if text.isdecimal() else None for text in (added, removed)]
        found.append(FileStat(path, *counts))
    return tuple(found)


def changed_paths(before: TreeState | None, after: TreeState, committed: Iterable[str] = ()) -> frozenset[str]:
    """Give the paths that differ between two moments.

    Args:
        before: the tree then; None when nobody looked, and then all that is dirty counts.
        after: the tree now.
        committed: names that differ between both commits.
    """
    old = before.marks if before is not None else {}
    touched = {path for path in old.keys() | after.marks.keys() if not _same(old.get(path), after.marks.get(path))}
    if before is not None and before.head == after.head:
        committed = ()
    return frozenset(touched | set(committed))


def _same(old: FileDifference | None, new: FileDifference | None) -> bool:
    """The kind doesn't count: a file that is only added to the index has not changed."""
    return old is not None and new is not None and old.contents == new.contents


def diff_summary(stats: Iterable[FileStat], new_files: Iterable[str] = ()) -> str:
    """Sum up changes in one line of at most 147 characters, '' without changes.

    >>> diff_summary([FileStat("a.py", 3, 1), FileStat("logo.png", None, None)], ["b.py"])
    'Changed: a.py (+3/-1), b.py (new)'
    """
    parts: dict[str, str] = {}
    for stat in stats:
        if stat.added is not None and stat.removed is not None:
            parts.setdefault(stat.path, f"{stat.path} (+{stat.added}/-{stat.removed})")
    for path in new_files:
        parts.setdefault(path, f"{path} (new)")
    if not parts:
        return ""
    line = " ".join(f"Changed: {', '.join(parts.values())}".split("\n"))
    return line if len(line) <= _SUMMARY_LIMIT else line[: _SUMMARY_LIMIT - 3] + "..."
