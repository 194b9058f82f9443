"""The gate behind each turn in a box: what the user's programs, or a loop, run or believe later is as it was.

How things are is taken in before the turn, and kept outside of the project until somebody has looked behind it: by
this process, or by the next one where this was killed. What had no business to change is put back as it was, or as
this process has written it since; what lay there instead is kept, so that nothing is lost. A look that can't be
finished ends the loop, and the project is refused until one can.
"""

from __future__ import annotations

import glob
import json
import os
import stat
import time
from contextlib import ExitStack, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from bridge.base.files import ANYWHERE, delete, make_private, observed, read_bytes, usable, write_atomic
from bridge.base.json_files import as_object, parse_json, to_json
from bridge.base.process.table import identify
from bridge.base.records import dataclass
from bridge.base.wording import one_line, plural
from bridge.errors import BridgeError, ProjectUnusable
from bridge.loop.sandbox import trusted_values as believed
from bridge.loop.sandbox.boxed import made
from bridge.loop.sandbox.mounts import inside
from bridge.loop.sandbox.path_states import Seen, look, put_back, restored, set_aside, written
from bridge.loop.sandbox.tree import Item, Listing, listed
from bridge.loop.sandbox.trusted_names import guarded_names
from bridge.loop.sandbox.unexamined import record_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.base.process.table import Identity
    from bridge.loop.sandbox.admitted import Contents

_MOST_STATE = 32 * 1024 * 1024
"""Bytes of a file of the CLI's that are looked at."""
_SHOWN = ("live.log", ".ralph_bridge.live.log")
"""Written while a turn runs, shown to people, and believed by nobody."""
_MOST_LINES = 20
_HELD = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Before:
    """How things were before a turn.

    Attributes:
        writable: what the turn may write to; `trees` of it: where guarded names count.
        git: the folders of git's own at their tops.
        paths: what lay at paths that are guarded by themselves; `mounted`: those that the box could only read.
        patterns: of such paths, where what is new counts, too. signs: those of them that count as files alone.
        parents: the folders around them.
        items: what is guarded by its name. bits: files with setuid or setgid bits.
        believed: files that the CLI itself writes, with the keys whose values count.
        shared: files with several names; None: nobody knows any more.
    """

    writable: set[str] = field(default_factory=set)
    trees: set[str] = field(default_factory=set)
    git: set[str] = field(default_factory=set)
    paths: dict[str, Seen] = field(default_factory=dict)
    mounted: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    signs: set[str] = field(default_factory=set)
    parents: dict[str, Seen] = field(default_factory=dict)
    items: dict[str, tuple[Item, Seen]] = field(default_factory=dict)
    bits: dict[str, tuple[tuple[int, int], int]] = field(default_factory=dict)
    believed: dict[str, tuple[Sequence[str], Seen]] = field(default_factory=dict)
    shared: dict[tuple[int, int], tuple[int, int, list[str]]] | None = None


class Guard:
    """Of one run's turns: :meth:`before` and :meth:`after` enclose what runs in the box.

    Args:
        project: that they run in.
        logs: the folder of the run's logs, which isn't looked into.
        taken_in: gives what is to be told of the repository.
        names: further guarded names, in whichever folder; `allowed`: those that turns may write.
    """

    def __init__(
        self,
        project: str | Path,
        logs: str | Path,
        *,
        taken_in: Callable[[], Iterable[str]] = tuple,
        names: Iterable[str] = (),
        allowed: Iterable[str] = (),
    ) -> None:
        self._taken_in = taken_in
        self._top, self._logs = os.path.realpath(project), os.path.realpath(logs)
        self._words = tuple(names), tuple(allowed)
        self._names = guarded_names(*self._words)
        self._record = record_of(self._top)
        self._was = Before()
        self._written: dict[str, bytes | None] = {}
        self._journal: dict[str, str | None] | None = None
        self._held = ExitStack()
        self._armed = False

    @classmethod
    def of_record(cls, document: Mapping[str, Any]) -> Guard:
        """Go on behind a turn of another process, from what it has kept."""
        names, allowed = document["names"]
        guard = cls(document["project"], document["logs"], names=names, allowed=allowed)
        guard._was = Before(
            writable={*document["writable"]},
            trees={*document["trees"]},
            git={*document["git"]},
            paths={path: restored(each) for path, each in document["paths"].items()},
            mounted={*document["mounted"]},
            patterns={*document["patterns"]},
            signs={*document["signs"]},
            parents={path: restored(each) for path, each in document["parents"].items()},
            items={path: (_item(item), restored(seen)) for path, (item, seen) in document["items"].items()},
            bits={path: ((one, two), mode) for path, ((one, two), mode) in document["bits"].items()},
            believed={path: (keys, restored(seen)) for path, (keys, seen) in document["believed"].items()},
        )
        lines = text_of(guard._record.parent / "written").decode("utf-8", "replace").splitlines()
        guard._journal = dict(json.loads(line) for line in lines)
        return guard

    # -- before ------------------------------------------------------------------------------------------

    def before(self, contents: Contents) -> None:
        """Take in how things are; what the functions of :mod:`bridge.base.files` write from now on is remembered.

        A box calls this whenever something is put into it: of what an earlier one may have changed since the last
        :meth:`after`, nothing is taken in anew. What the CLI needs is made first, which is no change of the turn's.

        Raises:
            ProjectUnusable: not all of it can be looked at.
        """
        made(contents.missing)
        if not self._armed:
            self._was, self._written = Before(), {}
        was, size = self._was, self._size()
        policy = contents.policy
        paths = {each for each in contents.guarded if os.path.basename(each) not in _SHOWN} - was.paths.keys()
        paths |= {os.path.realpath(each) for each in paths if os.path.islink(each)} - was.paths.keys()
        paths -= was.signs  # of these, that it was a folder is known, and no more
        new = set(policy.writable) - was.writable
        was.writable |= new
        for path in sorted(paths):
            for each in _parents(path, was.writable):
                was.parents.setdefault(each, look(each, into=False))
            was.paths[path] = look(path, into=not f"{self._logs}/".startswith(f"{path}/"))
            if path in policy.readonly:
                was.mounted.add(path)
            with suppress(OSError):  # held open, an inode can't become another file's
                self._held.callback(os.close, os.open(path, _HELD))
        was.patterns |= {*contents.patterns}
        was.signs |= {*contents.signs}
        trees, was.trees = {*contents.trees} - was.trees, was.trees | {*contents.trees}
        was.git |= {each.target for each in policy.mounts if each.writable}
        was.git |= {path for each in trees if os.path.isdir(path := f"{each}/.git") and not os.path.islink(path)}
        found = self._listed(trees, [each for each in new if not inside(each, was.trees)])
        for path, item in found.guarded.items():
            was.items[path] = item, look(path, into=item.whole, whole=True)
            real = os.path.realpath(path)  # what a link of the user's leads to is as good as guarded by name
            if real != path and inside(real, was.trees) and real not in was.trees | was.paths.keys():
                was.paths[real] = look(real)
        was.bits |= found.bits
        was.shared = found.shared if was.shared is None else was.shared | found.shared
        for path in contents.believed.keys() - was.believed.keys():
            was.believed[path] = contents.believed[path], look(path, most=_MOST_STATE)
        if not self._armed or size != self._size():
            self._keep(host=identify())
        if not self._armed:
            self._held.enter_context(observed(self._observe))
            self._armed = True

    def _size(self) -> tuple[int, ...]:
        return tuple(len(each) for each in (self._was.writable, self._was.paths, self._was.believed))

    def _observe(self, path: str, data: bytes | None) -> None:
        """Remember what the host writes, also for the process that comes after this one."""
        self._written[path] = data
        if path in self._was.paths:
            line = json.dumps([path, None if data is None else written(data, Seen()).digest])
            with suppress(OSError), open(self._record.parent / "written", "ab") as file:
                file.write(f"{line}\n".encode())

    def _listed(self, trees: Iterable[str], others: Iterable[str]) -> Listing:
        outside = [each for each in self._was.writable if not inside(each, self._was.trees)]
        own = {*self._was.paths, *self._was.git, self._logs}
        found = listed(
            _apart(trees), self._names, passed_over=own, outside=outside, repositories=".git" not in self._words[1]
        )
        return listed(_apart(others), None, into=found)

    def _keep(self, *, host: Identity | None = None) -> None:
        """Put the record down: what no process finds that is at work, the next one looks for. host: who is."""
        was = self._was
        document = {
            "schema": 1,
            "project": self._top,
            "logs": self._logs,
            "names": self._words,
            "host": None if host is None else host._asdict(),
            "writable": sorted(was.writable),
            "trees": sorted(was.trees),
            "git": sorted(was.git),
            "paths": {path: seen.document() for path, seen in was.paths.items()},
            "mounted": sorted(was.mounted),
            "patterns": sorted(was.patterns),
            "signs": sorted(was.signs),
            "parents": {path: seen.document() for path, seen in was.parents.items()},
            "items": {path: [item, seen.document()] for path, (item, seen) in was.items.items()},
            "bits": was.bits,
            "believed": {path: [keys, seen.document()] for path, (keys, seen) in was.believed.items()},
        }
        if inside(str(self._record), was.writable):
            raise ProjectUnusable(
                f"{self._record.parent} lies where turns in a box write, so that no record can be kept of what they"
                " may not change\n  next: set XDG_STATE_HOME to a folder outside of the project"
            )
        with usable(self._record.parent):
            make_private(self._record.parent)
            if not self._armed:
                delete(self._record.parent / "written")
            write_atomic(self._record, json.dumps(document), mode=0o600, root=ANYWHERE)

    # -- behind ------------------------------------------------------------------------------------------

    def after(self, turn: int) -> Iterator[str]:
        """Undo what wasn't the turn's to change, and give a sentence about each; all is done before the first.

        Raises:
            ProjectUnusable: behind the last sentence: something can't be undone, or not be looked at.
        """
        if not self._armed:
            return
        self._armed = False
        self._held.close()
        lines, error = self.looked(turn)
        yield from lines
        if error is not None:
            raise error

    def looked(self, turn: int) -> tuple[list[str], BridgeError | None]:
        """Do what :meth:`after` does; give its sentences, and what couldn't be done."""
        aside = self._record.parent / "undone" / f"{turn}-{time.time_ns()}"
        lines: list[str] = []
        error: BridgeError | None = None
        try:
            for line in self._differences(_Aside(aside)):
                lines.append(line)  # noqa: PERF402 - those before an error count
            delete(self._record)
            delete(self._record.parent / "written")
            with suppress(OSError):  # where nothing was undone
                os.rmdir(self._record.parent)
        except BridgeError as raised:
            error = raised
        except OSError as raised:
            error = ProjectUnusable(
                f"what a turn in a box has left can't be looked at: {raised.strerror}:"
                f" {one_line(str(raised.filename))}\n"
                "  next: see what lies there, make it readable or remove it, and run again"
            )
        if error is not None:
            with suppress(BridgeError, OSError):
                self._keep()
        try:
            lines += self._taken_in()
        except BridgeError as raised:
            error = error or raised
        if len(lines) > _MOST_LINES:
            more = plural(len(lines) - _MOST_LINES, "further change")
            lines[_MOST_LINES:] = [f"{more} beside these, not the turn's to make either: undone; see {aside}"]
        return lines, error

    def _differences(self, aside: _Aside) -> Iterator[str]:
        was = self._was
        for path, seen in sorted(was.parents.items()):
            if (seen.what == "link") != os.path.islink(path) or (seen.what == "link" and seen != look(path)):
                yield self._undo(path, seen, aside)
        for each in was.patterns:
            was.paths |= {path: Seen() for path in glob.glob(each) if path not in was.paths}
        for path, seen in sorted(was.paths.items()):
            if (wanted := self._wanted(path, seen)) is not None:
                yield self._undo(path, wanted, aside)
        for path in sorted(was.signs - was.paths.keys()):  # folders, of which a turn may make no file
            if look(path, into=False).what not in ("", "folder"):
                yield self._undo(path, Seen(), aside)
        for path, (keys, seen) in was.believed.items():
            if line := self._disbelieved(path, keys, seen, aside):
                yield line
        yield from self._in_trees(aside)

    def _wanted(self, path: str, was: Seen) -> Seen | None:
        """What is to lie at a guarded path, where something else does."""
        if path in self._written:
            data = self._written[path]
            was = Seen() if data is None else written(data, was)
        now = look(path, into=False)
        if path in self._was.signs and now.what == "folder" and not was.what:
            return None  # of the project's own
        if self._journal is not None and path not in self._written:
            if path in self._journal:  # what the process that was killed wrote last
                return None if (look(path).digest or None) == self._journal[path] else was
            if path in self._was.mounted and now.what in (was.what, ""):
                return None  # nobody in the box could: it was changed since
        same = was.what == now.what and was.what in ("file", "folder") and was.identity == now.identity
        if same and now.alone and path in self._was.mounted:
            return None  # its mount was there all the time: whoever has changed it was not in the box
        return was if was != look(path, was=was) else None

    def _in_trees(self, aside: _Aside) -> Iterator[str]:
        was = self._was
        found = self._listed(was.trees, [each for each in was.writable if not inside(each, was.trees)])
        for path, (identity, mode) in found.bits.items():
            if was.bits.get(path) != (identity, mode):
                os.chmod(path, stat.S_IMODE(mode) & 0o777)
                yield f"the turn had set the setuid or setgid bit of {self._shown(path)}: undone"
        yield from self._named(found, aside)
        if was.shared is not None:
            yield from self._names_elsewhere(was.shared, found)

    def _named(self, found: Listing, aside: _Aside) -> Iterator[str]:
        """Put back what is guarded by its name."""
        items, gone = self._was.items, "\0"
        for path, item in sorted(found.guarded.items()):
            if path.startswith(gone):
                continue
            before = items[path][1] if path in items else Seen()
            if path in self._written:
                wanted = self._wanted(path, before)
            elif path in items:
                wanted = None if before == look(path, into=item.whole, whole=True, was=before) else before
            else:
                wanted = None if self._moved(path, item, found) or self._ours(path) else before
            if wanted is not None:
                gone = f"{path}/"
                yield self._undo(path, wanted, aside)
        for path, (item, seen) in sorted(items.items()):
            if path not in found.guarded and item.whole and _is_there(path.removesuffix(item.name).rstrip("/")):
                yield self._undo(path, seen, aside)

    def _moved(self, path: str, item: Item, found: Listing) -> bool:
        """Whether it came here with the folder that it lay in, as it was."""
        return any(
            (old.name, old.folder) == (item.name, item.folder)
            and was not in found.guarded
            and seen == look(path, into=item.whole, whole=True, was=seen)
            for was, (old, seen) in self._was.items.items()
        )

    def _ours(self, path: str) -> bool:
        """Whether it is the file of a submodule or a work tree of this repository, whose git folder has it."""
        if os.path.basename(path) != ".git" or os.path.islink(path) or not os.path.isfile(path):
            return False
        named = os.fsdecode(read_bytes(path, 4096, root=os.path.dirname(path))).removeprefix("gitdir:").strip()
        folder = os.path.realpath(os.path.join(os.path.dirname(path), named))
        return os.path.isfile(os.path.join(folder, "HEAD")) and inside(
            folder, [f"{each}/{name}" for each in self._was.git for name in ("modules", "worktrees")]
        )

    def _names_elsewhere(
        self, before: Mapping[tuple[int, int], tuple[int, int, list[str]]], found: Listing
    ) -> Iterator[str]:
        outside = [
            paths[0]
            for identity, (count, changed, paths) in found.shared.items()
            if count > len(paths) and before.get(identity, (0, 0))[1] != changed
        ]
        if outside:
            names = one_line(", ".join(self._name(each) for each in sorted(outside)[:5]), 300)
            yield (
                f"the turn may have changed what others use: {plural(len(outside), 'file')} that changed, with"
                f" another name (a hard link) outside of the box: {names}"
            )

    def _disbelieved(self, path: str, keys: Sequence[str], was: Seen, aside: _Aside) -> str:
        """Put back what the CLI runs or believes, in a file that it has to write itself: the rest stays."""
        now = look(path, most=_MOST_STATE)
        if now == was:
            return ""
        document, before = (as_object(parse_json(each.data or b"")) for each in (now, was))
        if now.what != "file" or document is None:
            return self._undo(path, was, aside)
        try:
            old = believed.values(before or {}, keys)
            changed = believed.put_back(document, old, believed.values(document, keys))
        except RecursionError:
            return self._undo(path, was, aside)
        if not changed:
            return ""
        kept = aside.place(path)
        with usable(path):
            write_atomic(kept, to_json({".".join(way): value for way, value in changed.items()}), mode=0o600)
            write_atomic(path, to_json(document) + "\n", mode=was.mode or 0o600, root=ANYWHERE)
        what = one_line(", ".join(sorted(".".join(way) for way in changed)), 200)
        return (
            f"the turn had changed {what} in {self._shown(path)}, which is not its to change: undone; what stood"
            f" there is in {self._shown(kept)}"
        )

    def _undo(self, path: str, was: Seen, aside: _Aside) -> str:
        kept, name = aside.take(path), self._shown(path)
        empty = was.what == "folder" and (path in self._was.parents or not kept)
        if not was.kept and not empty:
            raise ProjectUnusable(
                f"the turn had changed {name}, and there is no copy to put back: what lies there now was moved to"
                f" {self._shown(kept)}\n"
                "  next: put it back by hand or from version control, then `ralph-bridge reset`"
            )
        with usable(name):
            put_back(path, was)
        instead = f"; what lay there is in {self._shown(kept)}" if kept else ""
        return f"the turn had changed {name}, which is not its to change: undone{instead}"

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self._top) if path.startswith(f"{self._top}/") else path

    def _shown(self, path: str) -> str:
        return one_line(self._name(path))


class _Aside:
    """A folder for what is taken away, under names by which nothing goes."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0

    def place(self, path: str) -> str:
        self._number += 1
        with usable(self._folder):
            make_private(self._folder)
        return str(self._folder / f"{self._number}-{os.path.basename(path)[:200]}")

    def take(self, path: str) -> str:
        return set_aside(path, self.place(path)) if os.path.lexists(path) else ""


def _item(item: Sequence[Any]) -> Item:
    whole, (device, number), name = item
    return Item(whole, (device, number), name)


def _apart(folders: Iterable[str]) -> list[str]:
    """Those that lie in none of the others."""
    folders = {*folders}
    return sorted(each for each in folders if not inside(os.path.dirname(each), folders))


def _is_there(folder: str) -> bool:
    return os.path.isdir(folder) and os.path.realpath(folder) == folder


def _parents(path: str, tops: Iterable[str]) -> Iterator[str]:
    """The folders on the way to a protected path, in what a turn may write to."""
    tops = tuple(f"{each}/" for each in tops)
    while (path := os.path.dirname(path)).startswith(tops):
        yield path
