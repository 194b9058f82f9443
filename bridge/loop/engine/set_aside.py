"""Files that belong to one of several tasks while its loop has the project: the user's own are kept, and put back.

They come back byte for byte, with their permissions, whatever the agent has done meanwhile; after a kill -9 the
next loop in the project sees to it. What the task has made of its own files comes back to it when it goes on.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from bridge.base.files import delete, delete_folder, make_folder, symlink, to_bytes, usable, write_atomic
from bridge.base.git.repository import find_repository
from bridge.base.json_files import as_array, as_object, read_object, write_json
from bridge.base.process.table import Identity, alive, identify
from bridge.errors import ProjectUnusable
from bridge.loop.sandbox.path_states import Seen, look, set_aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

FOLDER = ".ralph_bridge.tasks"
"""In the folder of the loop's state."""
_USERS, _TASKS, _STRANGE = "users", "task", "strange"
_MOST = 16 * 1024 * 1024
"""Bytes of a file that can be kept."""
_MANY = 50


class Aside:
    """The files that are aside in one project. Whoever calls this holds the project's lock.

    Args:
        state: the folder of the loop's state.
    """

    def __init__(self, project: Path, state: Path) -> None:
        self._project = project
        self._folder = state / FOLDER
        self._list = self._folder / "aside.json"
        self._kept: dict[str, Seen] = {}  # what an agent can't change
        self._task = ""
        self._unwatched: list[str] = []

    def take(
        self,
        task: str,
        files: Mapping[str, str | None],
        fits: Callable[[str, str, str], bool] = lambda _name, _text, _made: True,
    ) -> None:
        """Put a task's files in the place of the user's. While they are there, git takes none of them for a change.

        Args:
            task: tells it from others.
            files: texts by paths from the project's folder; None: there is to be none. Where the last loop on the
                same task was ended in the middle, what it had is taken instead.
            fits: whether a file of that name can hold such a text in the place of what is given.

        Raises:
            ProjectUnusable: one can't be kept, or written.
        """
        goes_on = (read_object(self._list) or {}).get("task") == task
        kept = {name: look(os.path.join(self._project, name), most=_MOST) for name in files}
        for name, seen in kept.items():
            if seen.what not in ("", "file", "link") or (seen.what == "file" and seen.data is None):
                raise ProjectUnusable(
                    f"{name} can't be put aside for a task: it is no file, or too large\n  next: move it away"
                )
            _put(self._of(_USERS, name), seen)
        self._kept, self._task, self._unwatched = kept, task, self._watched(files)
        self._note({name: seen.what for name, seen in kept.items()})
        self._watch("--assume-unchanged")
        lefts = {name: seen for name in files if goes_on and (seen := look(self._of(_TASKS, name))).what == "file"}
        with usable(self._folder), suppress(FileNotFoundError):
            delete_folder(self._folder / _TASKS, contents=True)
        for name, text in files.items():
            made = Seen() if text is None else Seen("file", mode=kept[name].mode, data=to_bytes(text))
            left = lefts[name].data if name in lefts else None
            if left is not None and fits(name, left.decode("utf-8", "replace"), text or ""):
                made = Seen("file", mode=kept[name].mode, data=left)
            _put(os.path.join(self._project, name), made)

    def give_back(self, *, done: bool = False) -> list[str]:
        """Put the user's files back; say what is to be known of it.

        Args:
            done: nobody goes on with the task: what it has made of its files isn't kept.

        Raises:
            ProjectUnusable: one can't be put back.
        """
        away = {name: seen.what for name, seen in self._kept.items()} or self._read()
        users = {
            name: self._kept.get(name) or (look(self._of(_USERS, name), most=_MOST) if what else Seen())
            for name, what in away.items()
        }
        for name in away if not done else ():
            now, left = look(os.path.join(self._project, name), most=_MOST), self._of(_TASKS, name)
            # The user's own lies there where a kill came between; a second one, behind what was kept then.
            if now.what == "file" and now.data is not None and now != users[name] and not os.path.lexists(left):
                _put(left, now)
        notes = []
        for name, was in users.items():
            if was.what != away[name] or (was.what == "file" and was.data is None):
                notes.append(f"the copy of {name} that was kept is gone: it stays as the task has left it")
                continue
            path = os.path.join(self._project, name)
            if look(path, most=0).what in ("folder", "other"):
                set_aside(path, self._of(_STRANGE, f"{os.getpid()}.{name}"))
            _put(path, was)
        self._watch("--no-assume-unchanged")
        self._kept, self._unwatched = {}, []
        self._task = "" if done else self._task
        with usable(self._folder), suppress(FileNotFoundError):
            if self._task:
                self._note({})
                delete_folder(self._folder / _USERS, contents=True)
            elif os.path.isdir(self._folder / _STRANGE):
                self._note({})
            else:
                delete_folder(self._folder, contents=True)
        return notes

    def recover(self) -> list[str]:
        """Put back what a process had put aside that is no more; say so."""
        if not (self._read() and not self._at_work()):
            return []
        return ["what a task's loop that was killed had put aside is back in its place", *self.give_back()]

    def forgotten(self) -> list[str]:
        """Names of the user's files that are aside, and that nobody puts back until the next loop begins."""
        return [] if self._at_work() else [name for name, what in self._read().items() if what]

    # -- the list ----------------------------------------------------------------------------------------

    def _note(self, away: Mapping[str, str]) -> None:
        owner: Mapping[str, object] = identify()._asdict()
        found = {"schema": 1, **owner, "task": self._task, "away": away, "unwatched": self._unwatched}
        with usable(self._folder):
            make_folder(self._folder)
        write_json(self._list, found)

    def _read(self) -> dict[str, str]:
        """What the list says is aside; an agent may have written it."""
        found: Mapping[str, Any] = read_object(self._list) or {}
        self._task = str(found.get("task") or "")[:200]
        away = as_object(found.get("away")) or {}
        names = [name for name in [*away][:_MANY] if _is_inside(name)]
        self._unwatched = [name for name in names if name in as_array(found.get("unwatched"))]
        return {name: str(away[name]) for name in names if away[name] in ("", "file", "link")}

    def _at_work(self) -> bool:
        found = read_object(self._list) or {}
        with suppress(KeyError, TypeError, ValueError):
            return alive(Identity(int(found["pid"]), str(found["started"]), str(found["boot"])))
        return False

    def _of(self, folder: str, name: str) -> str:
        return os.path.join(self._folder, folder, name.replace("%", "%25").replace("/", "%2F"))

    # -- what git sees -----------------------------------------------------------------------------------

    def _watched(self, names: Iterable[str]) -> list[str]:
        """Those that git has, and compares: the agent's `git add -A` would commit a plan with one task in it."""
        git = find_repository(self._project)
        listed = git.run("ls-files", "-v", "-z", "--", *names).text if git is not None else ""
        return [each[2:] for each in listed.split("\0") if each.startswith("H ")]

    def _watch(self, how: str) -> None:
        git = find_repository(self._project) if self._unwatched else None
        if git is not None:
            git.run("update-index", how, "--", *self._unwatched)


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and str(path) == name != "." and not {"..", ".git"} & {*path.parts}


def _put(path: str, seen: Seen) -> None:
    """Have at a path what was seen, in the place of what file or link is there."""
    with usable(path):
        if seen.what:
            make_folder(os.path.dirname(path))
        if seen.what == "file":
            write_atomic(path, seen.data or b"", mode=seen.mode or None, follow=False)
            return
        with suppress(FileNotFoundError, NotADirectoryError):
            delete(path)
        if seen.what == "link":
            symlink(seen.digest, path)
