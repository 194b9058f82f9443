"""What a run changed, out of what git says before and after it. Pure.

Counted is what differs between the two moments: commits, changes of tracked files and untracked files
(drift D18), and never the loop's own state (trap T6). What was dirty before the run and still is, in the
same way, is no work of that run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "FileStat",
    "TreeState",
    "changed_paths",
    "diff_summary",
    "is_own_state",
    "parse_numstat",
    "parse_tree",
]

_OWN = re.compile(
    r"(?:status\.json|progress\.json|live\.log|ralph\.log|logs/.*"
    r"|\.call_count|\.last_reset|\.exit_signals|\.response_analysis|\.circuit_breaker_(?:state|history)"
    r"|\.ralph_session(?:_history)?|\.claude_session_id|\.loop_start_sha|\.loop_diff_summary|\.last_output_length"
    r"|\.quality_gate_results|\.review_findings\.json|\.review_last_sha|\.(?:write_)?heartbeat_\w+|\.qg_tmp.*"
    r"|\.ralph_bridge.*|.*\.lock|\..*\.tmp|.*\.collapse_tmp)",
    re.DOTALL,
)
_ROOT_TEMPORARY = re.compile(r"\.response_analyzer\.\w+")
_SUMMARY_LIMIT = 147


@dataclass(frozen=True, slots=True)
class TreeState:
    """A working tree at one moment.

    Attributes:
        head: the commit that is checked out; '' before the first.
        marks: for each path that differs from it or is untracked, whatever tells this state of the file
            from another one.
    """

    head: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def dirty(self) -> bool:
        """True when there is something to commit."""
        return bool(self.marks)


class FileStat(NamedTuple):
    """Lines added and removed; None of a binary file."""

    path: str
    added: int | None
    removed: int | None


def parse_tree(data: bytes, stamp: Callable[[str], str] = lambda _: "") -> TreeState:
    """Read ``git status --porcelain=v2 --branch -z --untracked-files=all``.

    Args:
        data: what it prints.
        stamp: gives what tells two states of a file apart, as size and time of change; git itself shows
            no more than that it differs from the index.
    """
    head = ""
    marks: dict[str, str] = {}
    fields = iter(data.decode("utf-8", "surrogateescape").split("\0"))
    for entry in fields:
        kind, _, rest = entry.partition(" ")
        if entry.startswith("# branch.oid "):
            head = "" if entry.endswith("(initial)") else entry.rpartition(" ")[2]
            continue
        # How many fields stand in front of the path.
        count = {"1": 7, "2": 8, "u": 9, "?": 0}.get(kind)
        if count is None:
            continue
        if kind == "2":
            next(fields, None)  # the path before the renaming
        *before, path = rest.split(" ", count)
        marks[path] = " ".join([kind, *before, stamp(path)])
    return TreeState(head, marks)


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


def is_own_state(path: str, state_dir: str = ".ralph") -> bool:
    """Say whether a path (as git prints it) is a file that the loop itself writes.

    The plan, the prompt and the specs aren't: agents edit them.

    Args:
        path: relative to the top of the repository.
        state_dir: where the state lies, likewise.
    """
    folder = state_dir.rstrip("/") + "/"
    parent = folder.rpartition(".ralph/")[0] if folder.endswith(".ralph/") else ""
    if path.startswith(folder):
        return _OWN.fullmatch(path.removeprefix(folder)) is not None
    return _ROOT_TEMPORARY.fullmatch(path.removeprefix(parent)) is not None


def changed_paths(
    before: TreeState | None, after: TreeState, committed: Iterable[str] = (), *, state_dir: str = ".ralph"
) -> frozenset[str]:
    """Give the paths that a run changed; their number is ``files_changed``.

    Args:
        before: the tree when the run began; None when nobody looked, and then all that is dirty counts.
        after: the tree now.
        committed: names that differ between both commits.
        state_dir: where the loop's own state lies.
    """
    old = before.marks if before is not None else {}
    touched = {path for path in old.keys() | after.marks.keys() if old.get(path) != after.marks.get(path)}
    if before is not None and before.head == after.head:
        committed = ()
    return frozenset(path for path in touched | set(committed) if not is_own_state(path, state_dir))


def diff_summary(stats: Iterable[FileStat], new_files: Iterable[str] = (), *, state_dir: str = ".ralph") -> str:
    """Write ``.loop_diff_summary``: one line of at most 147 characters, '' without changes.

    >>> diff_summary([FileStat("a.py", 3, 1), FileStat("logo.png", None, None)], ["b.py"])
    'Changed: a.py (+3/-1), b.py (new)'
    """
    parts: dict[str, str] = {}
    for stat in stats:
        if stat.added is not None and stat.removed is not None and not is_own_state(stat.path, state_dir):
            parts.setdefault(stat.path, f"{stat.path} (+{stat.added}/-{stat.removed})")
    for path in new_files:
        if not is_own_state(path, state_dir):
            parts.setdefault(path, f"{path} (new)")
    if not parts:
        return ""
    line = " ".join(f"Changed: {', '.join(parts.values())}".split("\n"))
    return line if len(line) <= _SUMMARY_LIMIT else line[: _SUMMARY_LIMIT - 3] + "..."
