"""What mounts can't hold, looked for behind each turn in a box, before the host reads anything of the project.

A protected path that wasn't there can't be mounted over, a file that the host replaces by a rename loses its mount,
and no mount keeps an agent from setting bits on its own files. What it had no business to change is put back as it
was, or as this process has written it since; what lay there instead is kept, so that nothing is lost.
"""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from bridge.errors import ProjectUnusable
from bridge.files import ANYWHERE, make_folder, observed, usable, write_atomic
from bridge.git.immune import names_programs, program
from bridge.process.ask import ask
from bridge.records import as_object, parse_json, to_json
from bridge.sandbox import believed
from bridge.sandbox.boxed import made
from bridge.sandbox.seen import Seen, look, put_back, set_aside, unchanged
from bridge.wording import one_line, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from bridge.sandbox.contents import Contents

_MOST_FILES = 200_000
_MOST_SECONDS = 5.0
_LONGEST = 3000
"""Characters of a path: the system takes some 4,000 bytes."""
_CLOCK_LAG = 20_000_000
"""Nanoseconds by which the file system's clock may be behind ours."""
_MOST_STATE = 32 * 1024 * 1024
"""Bytes of a file of the CLI's that are looked at."""
_SHOWN = "live.log"
"""Written while a turn runs, shown to people, and believed by nobody."""
_PATIENCE = 5.0
_COMMANDS = re.compile(rb"(?m)^[ \t]*(?:exec|x)[ \t]")
"""Lines of the list of a rebase that is half done."""
_HELD = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC


class Guard:
    """Of one run's turns: :meth:`before` and :meth:`after` enclose what runs in the box.

    Args:
        project: that they run in.
        logs: the folder of the run's logs, where what is taken away goes.
    """

    def __init__(self, project: Path, logs: Path) -> None:
        self._top, self._logs = os.path.realpath(project), os.path.realpath(logs)
        self._writable: set[str] = set()
        self._seen: dict[str, Seen] = {}
        self._parents: dict[str, Seen] = {}
        self._believed: dict[str, tuple[Sequence[str], Seen]] = {}
        self._written: dict[str, bytes | None] = {}
        self._since = time.time_ns() - _CLOCK_LAG
        self._held = ExitStack()
        self._armed = False

    def before(self, contents: Contents) -> None:
        """Take in how things are; what the functions of :mod:`bridge.files` write from now on is remembered.

        A box calls this whenever something is put into it: of what an earlier one may have changed since the last
        :meth:`after`, nothing is taken in anew. What the CLI needs is made first, which is no change of the turn's.
        """
        made(contents.missing)
        if not self._armed:
            self._writable, self._written = set(), {}
            self._seen, self._parents, self._believed = {}, {}, {}
            self._held.enter_context(observed(self._written.__setitem__))
            self._armed = True
        self._writable.update(contents.policy.writable)
        paths = {each for each in contents.guarded if os.path.basename(each) != _SHOWN}
        paths |= {os.path.realpath(each) for each in paths if os.path.islink(each)}
        for path in sorted(paths - self._seen.keys()):
            for each in _parents(path, self._writable):
                self._parents.setdefault(each, look(each, most=0))
            self._seen[path] = look(path, without=self._logs)
            with suppress(OSError):  # held open, an inode can't become another file's
                self._held.callback(os.close, os.open(path, _HELD))
        for path in contents.believed.keys() - self._believed.keys():
            self._believed[path] = contents.believed[path], look(path, most=_MOST_STATE)

    def after(self, turn: int, *, walk: bool = True) -> Iterator[str]:
        """Undo what wasn't the turn's to change, and give a sentence about each.

        Args:
            turn: its number. walk: look at all files of the project, too.

        Raises:
            ProjectUnusable: something of it can't be undone.
        """
        if not self._armed:
            return
        self._armed = False
        aside = os.path.join(self._logs, "undone", f"{turn}-{time.time_ns()}")
        written = self._written
        self._held.close()
        for path, was in sorted(self._parents.items()):
            if (was.what == "link") != os.path.islink(path) or (was.what == "link" and was != look(path)):
                yield self._undo(path, was, aside)
        for path, was in self._seen.items():
            if path in written:
                data = written[path]
                was = Seen() if data is None else Seen("file", mode=was.mode or 0o644, data=data)
                changed = was != look(path, most=len(data or b""))
            else:
                changed = not unchanged(path, was, self._logs)
            if changed:
                yield self._undo(path, was, aside)
        for path, (keys, was) in self._believed.items():
            if line := self._disbelieved(path, keys, was, aside):
                yield line
        if walk:
            since, self._since = self._since, time.time_ns() - _CLOCK_LAG
            yield from self._walked(since, aside)

    def _disbelieved(self, path: str, keys: Sequence[str], was: Seen, aside: str) -> str:
        """Put back what the CLI runs or believes, in a file that it has to write itself: the rest stays."""
        now = look(path, most=_MOST_STATE)
        if now == was:
            return ""
        document, before = (as_object(parse_json(each.data)) for each in (now, was))
        if now.what != "file" or document is None:
            return self._undo(path, was, aside)
        try:
            old = believed.values(before or {}, keys)
            changed = believed.put_back(document, old, believed.values(document, keys))
        except RecursionError:
            return self._undo(path, was, aside)
        if not changed:
            return ""
        kept = os.path.join(aside, self._name(path).lstrip("/"))
        with usable(path):
            make_folder(os.path.dirname(kept))
            write_atomic(kept, to_json({".".join(way): value for way, value in changed.items()}), mode=0o600)
            write_atomic(path, to_json(document) + "\n", mode=was.mode or 0o600, root=ANYWHERE)
        what = one_line(", ".join(sorted(".".join(way) for way in changed)), 200)
        return (
            f"the turn had changed {what} in {self._shown(path)}, which is not its to change: undone; what stood"
            f" there is in {self._shown(kept)}"
        )

    def _undo(self, path: str, was: Seen, aside: str) -> str:
        kept = set_aside(path, os.path.join(aside, self._name(path).lstrip("/")))
        name = self._shown(path)
        whole = (was.data, was.files) != (None, None) or was.what == "" or (was.what == "folder" and not kept)
        if not whole and path not in self._parents:
            raise ProjectUnusable(
                f"the turn had changed {name}, and there is no copy to put back: what lies there now was moved to"
                f" {self._shown(kept)}\n  next: put it back by hand, or from version control"
            )
        with usable(name):
            put_back(path, was)
        instead = f"; what lay there is in {self._shown(kept)}" if kept else ""
        return f"the turn had changed {name}, which is not its to change: undone{instead}"

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self._top) if path.startswith(f"{self._top}/") else path

    def _shown(self, path: str) -> str:
        return one_line(self._name(path))

    def _walked(self, since: int, aside: str) -> Iterator[str]:
        """Look for files that run as their owner, whoever starts them, pipes where git would wait, and files that
        have a name elsewhere, too."""
        shared: dict[tuple[int, int], list[str]] = {}
        missing: dict[tuple[int, int], int] = {}
        until, left = time.monotonic() + _MOST_SECONDS, _MOST_FILES
        folders = [each for each in self._writable if not any(each.startswith(f"{e}/") for e in self._writable)]
        while folders:
            folder = folders.pop()
            for entry in _entries(folder, since):
                left -= 1
                if not entry.is_dir(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        if line := self._file(entry.path, found, since, aside):
                            yield line
                        if found.st_nlink > 1 and found.st_ctime_ns >= since and stat.S_ISREG(found.st_mode):
                            which = (found.st_dev, found.st_ino)
                            shared.setdefault(which, []).append(self._name(entry.path))
                            missing[which] = found.st_nlink - len(shared[which])
                elif len(entry.path) > _LONGEST:
                    left = -1
                elif not folder.endswith("/.git/objects") and entry.path != os.path.dirname(aside):
                    folders.append(entry.path)
            if folders and (left < 0 or time.monotonic() > until):
                why = "it is too large, or too deep"
                yield f"not all of {self._top} was looked at for files with the setuid bit: {why}"
                return
        if outside := sorted(shared[which][0] for which, count in missing.items() if count > 0):
            yield (
                f"the turn may have changed what others use: {plural(len(outside), 'file')} that changed, with"
                f" another name (a hard link) outside of the box: {one_line(', '.join(outside[:5]), 300)}"
            )

    def _file(self, path: str, found: os.stat_result, since: int, aside: str) -> str:
        if found.st_ctime_ns < since:
            return ""
        name = self._shown(path)
        if stat.S_ISREG(found.st_mode) and found.st_mode & (stat.S_ISUID | stat.S_ISGID):
            os.chmod(path, stat.S_IMODE(found.st_mode) & 0o777)
            return f"the turn had set the setuid or setgid bit of {name}: undone"
        if self._is_gits(path, found):
            kept = set_aside(path, os.path.join(aside, self._name(path).lstrip("/")))
            return f"the turn had made {name}, by which git would go: moved to {self._shown(kept)}"
        if (
            not stat.S_ISREG(found.st_mode)
            and not stat.S_ISLNK(found.st_mode)
            and ("/.git/" in path or os.path.basename(path).startswith(".git"))
        ):
            kept = set_aside(path, os.path.join(aside, self._name(path).lstrip("/")))
            moved = self._shown(kept)
            return f"the turn had made {name}, which is no file, and which git would read: moved to {moved}"
        return ""

    def _is_gits(self, path: str, found: os.stat_result) -> bool:
        """Whether it has git run something when a user works in that repository, or makes the project another one's
        work tree."""
        if not path.startswith(f"{self._top}/"):  # a CLI's own, which only it goes by, in its box
            return False
        folder, name = os.path.split(path)
        if name == ".git" and folder == self._top and path not in self._seen:
            return True
        above, inner = os.path.split(folder)
        if inner == "rebase-merge":
            return name == "git-rebase-todo" and _COMMANDS.search(look(path).data or b"exec ") is not None
        if inner == "hooks" and os.path.lexists(os.path.join(above, "HEAD")):
            return folder not in self._seen and not name.endswith(".sample") and bool(found.st_mode & 0o111)
        if not os.path.lexists(os.path.join(folder, "HEAD")) or path in self._seen:
            return False
        if name in ("config", "config.worktree") and stat.S_ISREG(found.st_mode):
            words = [program(os.environ, self._top), "config", "--file", path, "--no-includes", "--list", "-z"]
            ran = ask(words, cwd="/", env=os.environ, patience=_PATIENCE)
            return not ran.ok or names_programs(ran.out)
        linked = name == "commondir" and os.path.basename(above) != "worktrees"
        return linked or (name in ("config", "hooks") and stat.S_ISLNK(found.st_mode))


def _entries(folder: str, since: int) -> list[os.DirEntry[str]]:
    """What lies in a folder, also in one that the turn has closed; nothing in one that is somebody else's."""
    with suppress(OSError):
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode):
            return []
        if found.st_ctime_ns >= since and not os.access(folder, os.R_OK | os.X_OK):
            os.chmod(folder, stat.S_IMODE(found.st_mode) | 0o700)
        with os.scandir(folder) as entries:
            return list(entries)
    return []


def _parents(path: str, tops: Iterable[str]) -> Iterator[str]:
    """The folders on the way to a protected path, in what a turn may write to."""
    tops = tuple(f"{each}/" for each in tops)
    while (path := os.path.dirname(path)).startswith(tops):
        yield path
