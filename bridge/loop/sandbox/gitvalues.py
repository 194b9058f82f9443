"""What a private git folder has come to, as values: the script that prints them in its box, and what reads that.

Nothing of it is believed: ids are ids, names are judged, and the objects are a pack for the host's git to check.
"""

from __future__ import annotations

import re
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.records import dataclass
from bridge.base.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TITLES = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a series of picked commits",
    "BISECT_LOG": "a bisection",
}
"""What goes on in the private folder alone, since its files name commands; the first one counts."""
MERGING = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "MERGE_MODE", "MERGE_MSG")
"""A merge that is under way, and where HEAD was before one, or a reset: ids of commits, and words."""
OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFLOG = re.compile(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d{1,12} [+-]\d{4})(?:\t(.*))?")
EXPORT = r"""
export GIT_DIR=$1 GIT_WORK_TREE=/ LC_ALL=C GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1 GIT_OPTIONAL_LOCKS=0
refs=$(git for-each-ref --format='R %(HEAD)%(objectname) %(refname) %(symref)')
printf '%s\0' "$refs"
head=
if [[ $refs != *'R *'* ]]; then  # no branch, or one without a commit
    head=$(git rev-parse --verify -q 'HEAD^{commit}') name=$(git symbolic-ref -q HEAD)
    [ "$head$name" ] || { git rev-parse HEAD; exit 1; }
    printf 'H %s %s\0' "$head" "$name"
fi
if ! tree=$(git write-tree 2> /dev/null); then
    work=$(mktemp) && cp "$GIT_DIR/index" "$work" && export GIT_INDEX_FILE=$work
    git ls-files -u -z | while IFS= read -r -d '' each; do printf '%s\0' "${each#*$'\t'}"; done |
        git update-index -z --force-remove --stdin
    tree=$(git write-tree 2> /dev/null); unset GIT_INDEX_FILE
    git ls-files -u -z
    unmerged=$(git ls-files -u)
fi
printf 'T %s\0' "$tree"
IFS= read -r -n 5 kind < "$GIT_DIR/index"  # the third version and later ones have marks such as those of add -N
[ ! "$tree" ] || [[ $kind == DIRC$'\2' ]] ||
    git diff-index --cached --ita-visible-in-index --diff-filter=A --no-renames --name-only -z "$tree" -- |
    while IFS= read -r -d '' each; do printf 'A %s\0' "$each"; done
[ ! -d "$GIT_DIR/rebase-merge" ] && [ ! -d "$GIT_DIR/rebase-apply" ] ||
    printf 'N %s\0' "$(head -c 1000 "$GIT_DIR"/rebase-*/head-name)"
for each in "${@:2}"; do  # of each reflog: its name, how long it was
    [ -f "$GIT_DIR/logs/${each%=*}" ] || continue
    lines=$(tail -c +$((${each##*=} + 1)) "$GIT_DIR/logs/${each%=*}" | tail -n 500)
    printf 'L %s\n%s\0' "${each%=*}" "$lines"
    moves="$moves$lines
"
done
for each in rebase-merge rebase-apply sequencer BISECT_LOG; do
    [ ! -e "$GIT_DIR/$each" ] || printf 'B %s\0' "$each"
done
for each in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD ORIG_HEAD MERGE_MODE MERGE_MSG; do
    [ -f "$GIT_DIR/$each" ] || continue
    printf 'F %s ' "$each"; head -c 65536 "$GIT_DIR/$each" | tr -d '\0'; printf '\0'
done
if [[ $refs == *' refs/stash '* ]]; then
    stashes=$(git log -g --format='S %H %gs' refs/stash -- 2> /dev/null)
    printf '%s\0' "$stashes"
fi
printf 'E\0'
{
    cat; printf '%s\n' $head $tree
    while read -r _ id _; do [[ $id != *[!0]* ]] || printf '%s\n' "$id"; done <<< "$moves
$unmerged
$stashes"
    for each in "$GIT_DIR"/{MERGE,CHERRY_PICK,REVERT,ORIG}_HEAD "$GIT_DIR"/rebase-*/orig-head; do
        [ ! -f "$each" ] || cat "$each"
    done
} | git pack-objects -q --revs --all --stdout --thin --local --delta-base-offset
"""
"""Prints records that end with NUL, the last of them E, and the pack of what the host doesn't have.

Arguments: the git folder, and of each reflog that counts its name and how many bytes of it the host has. It reads
what the host has, as ids with ``^``. Each process that it starts is one more in each turn.
"""
_END = re.compile(rb"\0\n?E\0")
_MOST_REFS = _MOST_INTENDED = 100_000


class Had(NamedTuple):
    """What the host's repository had when a private folder was made.

    Attributes:
        head: the commit that was checked out; '': none yet. name: the branch; '': none.
        refs: their values. merging: the files of a merge that was under way.
        under_way: what goes on in the private folder alone. kept: a ref of ours that holds it, and its value.
        logs: bytes of each reflog that counts.
    """

    head: str
    name: str
    refs: Mapping[str, str]
    merging: Mapping[str, str]
    under_way: str = ""
    kept: str = ""
    logs: Mapping[str, int] = MappingProxyType({})


class Moved(NamedTuple):
    """A line of a reflog: commits, when (``1767225600 +0000``), and why."""

    old: str
    new: str
    when: str
    why: str
    size: int


@dataclass
class Came:
    """What a private folder has now, as a git in a box told it: nothing of it is believed."""

    head: str = ""
    name: str = ""
    tree: str = ""
    logs: dict[str, list[Moved]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    merging: dict[str, str] = field(default_factory=dict)
    unmerged: list[bytes] = field(default_factory=list)
    intended: list[str] = field(default_factory=list)
    """Paths that are to be added, and aren't yet (``git add -N``)."""
    stashes: list[tuple[str, str]] = field(default_factory=list)
    under_way: str = ""
    pack: bytes = b""

    def why(self, name: str) -> str:
        """What the last line of a reflog says."""
        lines = self.logs.get(name)
        return (lines[-1].why if lines else "") or "a turn in a box"


def read(printed: bytes) -> Came | None:
    """Read what the export prints; None: that is none of it."""
    end = _END.search(printed)
    return None if end is None else parse(printed[: end.start()], printed[end.end() :])


def parse(head: bytes, pack: bytes) -> Came:
    """Read what the export prints."""
    came = Came(pack=pack)
    for record in head.split(b"\0"):
        record = record.lstrip(b"\n")
        if record[:1].isdigit():
            came.unmerged.append(record)
        else:
            kind, _, rest = record.decode("utf-8", "surrogateescape").partition(" ")
            _read_record(came, kind, rest)
    return came


def _read_record(came: Came, kind: str, rest: str) -> None:
    first, _, second = rest.partition(" ")
    value = first if OBJECT.fullmatch(first) else ""
    match kind:
        case "H":
            came.head, came.name = value, second
        case "N" if rest.startswith("refs/heads/"):
            came.name = rest  # the branch that a rebase is about
        case "T":
            came.tree = value
        case "A" if rest and len(came.intended) < _MOST_INTENDED:
            came.intended.append(rest)
        case "L":
            name, *lines = rest.split("\n")
            came.logs |= {name: moves} if (moves := [*filter(None, map(_move, lines))]) else {}
        case "B":
            came.under_way = came.under_way or (first if first in TITLES else "")
        case "F" if first in MERGING:
            came.merging[first] = second
        case "S":
            found = (each.partition(" ") for each in rest.split("\nS "))
            came.stashes += [(value, one_line(why, 200)) for value, _, why in found if OBJECT.fullmatch(value)]
        case "R":
            _read_refs(came, rest.split("\nR ")[:_MOST_REFS])


def _read_refs(came: Came, lines: Sequence[str]) -> None:
    for line in lines:
        value, _, rest = line[1:].partition(" ")
        name, _, link = rest.partition(" ")
        if OBJECT.fullmatch(value) and name and not link:
            came.refs[name] = value
            if line.startswith("*"):
                came.head, came.name = value, name


def _move(line: str) -> Moved | None:
    if (found := _REFLOG.fullmatch(line)) is None:
        return None
    size = len(line.encode("utf-8", "surrogateescape")) + 1
    return Moved(found[1], found[2], found[3], one_line(found[4] or "", 200), size)


def found_by(name: str) -> set[str]:
    """Give the names by which git finds a ref.

    >>> sorted(found_by("refs/tags/v1"))
    ['refs/tags/v1', 'tags/v1', 'v1']
    """
    found = {name.removeprefix(each) for each in ("", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/")}
    return found | ({name[13:-5]} if name.startswith("refs/remotes/") and name.endswith("/HEAD") else set())


def refusal(name: str) -> str:
    """Why a ref of this name isn't made; ''."""
    short = name.split("/", 2)[-1]
    if any(each.startswith("-") for each in name.split("/")):
        return "a part of its name begins with -"
    if (
        short == "@"
        or re.fullmatch(r"([A-Z]+_)?HEAD|(refs|heads|tags|remotes)/.*", short)
        or OBJECT.fullmatch(short)
    ):
        return "git takes its name for something else"
    if "$" in name or "`" in name:
        return "a shell that shows it could run a part of its name"
    if not all(each.isprintable() or "\udc80" <= each <= "\udcff" for each in name):
        return "its name has characters that are not seen"
    return ""
