"""Every file and folder that a loop touches, planted by a stranger: before a command, and by a turn of the night.

Which those are is recorded at the door itself (`bridge.base.files`), so that none can be forgotten.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import socket
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import command
from tests.examples import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.examples import Project

_SECRET = "what belongs to the user"
_RECORDER = """\
import os
import bridge.base.files as files

located = files.located

def recorded(path, **options):
    with open(os.environ["TOUCHED"], "a") as file:
        file.write(os.path.abspath(path) + "\\n")
    return located(path, **options)

files.located = recorded
"""
_VIEWS = (("status",), ("report",), ("reset",))
_PARTS = 4
_MAY_BE_LINKED = re.compile(r".*\.(md|sh)|.*/(config|ralph)")
"""Prompts, plans and scripts: read, or run, wherever they lie."""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user's."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "canary").write_text(f"{_SECRET}\n- [ ] {_SECRET}\n")
    (folder / "old.log").write_text(f"{_SECRET}\n")
    return folder


def _seen(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that there is to see of it, but for how many names a file has."""
    found: dict[str, tuple[object, ...]] = {}
    for path in (folder, *folder.rglob("*")):
        seen = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (seen.st_mode, seen.st_mtime_ns, seen.st_ino, seen.st_size, data)
    return found


def _link(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "canary")


def _dangling(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "new")


def _chain(path: Path, outside: Path) -> None:
    path.with_name("between").symlink_to(os.path.relpath(outside / "canary", path.parent))
    path.symlink_to("between")


def _hard(path: Path, outside: Path) -> None:
    os.link(outside / "canary", path)


def _folder(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def _fifo(path: Path, _outside: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path, _outside: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def _loop(path: Path, _outside: Path) -> None:
    path.symlink_to(path.name)


def _huge(path: Path, _outside: Path) -> None:
    ours = ".git" not in path.parts  # git reads its own files: 300 MB of a name take it a second per command
    with path.open("wb") as file:
        file.truncate((300 if ours else 8) << 20)


def _touched(night: Project, tmp_path: Path) -> list[str]:
    """The files below the project that a run touches, there or not, and the folders above them."""
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder" / "sitecustomize.py").write_text(_RECORDER)
    record = tmp_path / "touched"
    path = f"{tmp_path / 'recorder'}:{ROOT}"
    loop = night.start("--max-iterations", "1", PYTHONPATH=path, TOUCHED=str(record))
    assert loop.finished() in (0, night.example.used_up), loop.said
    found = set()
    for line in record.read_text().splitlines():
        name = Path(line.removeprefix(f"{night.path}/"))
        if not name.is_absolute() and not line.endswith((".tmp", "/:")) and not name.suffix[1:].isdigit():
            found |= {str(name), *(str(each) for each in name.parents if str(each) not in (".", ".git"))}
    return sorted(found - {"work.txt"})


def _view(night: Project, words: tuple[str, ...]) -> tuple[int, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("RALPH")}
    done = command.run(words, cwd=night.path, env=env | night.env)
    return done.returncode, done.stdout + done.stderr


def _planted(night: Project, name: str, plant: Callable[[], object]) -> None:
    path = night.path / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    plant()


_WAYS = (_fifo, _dangling, _hard, _chain, _socket, _folder, _loop, _huge)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(_PARTS))
def test_whatever_a_loop_touches_is_planted_before(
    night: Project, tmp_path: Path, outside: Path, part: int
) -> None:
    """Nothing outside is changed or shown, nothing hangs or crashes, and what is refused is named."""
    if night.example.counts_on and night.example.agent:
        return  # its files are those of wiggum-driver
    names = _touched(night, tmp_path)
    assert len(names) > 10
    shutil.copytree(night.path, tmp_path / "fresh", symlinks=True)
    for number, name in list(enumerate(names))[part::_PARTS]:
        for way in (_link, _WAYS[number % len(_WAYS)]):
            shutil.rmtree(night.path)
            shutil.copytree(tmp_path / "fresh", night.path, symlinks=True)
            _planted(night, name, partial(way, night.path / name, outside))
            before = _seen(outside)
            found = [(words, *_view(night, words)) for words in _VIEWS]
            loop = night.start("--max-iterations", "1")
            found.append((("run",), loop.finished(), loop.said))
            where = f"{name} as {way.__name__}"
            for words, status, said in found:
                own = (126, 127) if night.example.scripted and words[0] == "run" else ()  # the script's
                assert status in (0, 1, 2, 4, *own), (where, words, said)
                assert "Traceback" not in said, (where, words, said)
                if way is not _hard and not _MAY_BE_LINKED.fullmatch(f"/{name}"):
                    assert _SECRET not in said, (where, words, said)
            assert _seen(outside) == before, where
            if found[-1][1] not in (0, night.example.used_up):
                said = found[-1][2]  # without the folder of its setup it is a project like any other
                named = os.path.basename(name) in said or (name.startswith(".git/") and "has a .git" in said)
                assert named or "no prompt file" in said or "is not there" in said, (where, said)


_STAMP = re.compile(r"20\d\d-?\d\d-?\d\d[T_-]?\d\d-?\d\d-?\d\dZ?(-\d+)?")


def _as_bash(path: Path) -> str:
    """A path in bash; of a file that has the time in its name, the newest of that kind."""
    pattern = _STAMP.sub("\0", str(path))
    newest = "*".join(shlex.quote(part) for part in pattern.split("\0"))
    return f"$(ls -td {newest} 2>/dev/null | head -1)" if "\0" in pattern else shlex.quote(str(path))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", ["files", "folders"])
def test_whatever_a_loop_writes_is_planted_by_a_turn(
    night: Project, tmp_path: Path, outside: Path, what: str
) -> None:
    """The loop ends in order, somebody is told, and the next run works once the link is gone."""
    shutil.copytree(night.path, tmp_path / "fresh", symlinks=True)
    names = list(_written(night))
    if what == "folders":
        names = sorted({str(each) for name in names for each in Path(name).parents} - {"."})
    assert names
    notices = tmp_path / "notices"
    for name in names:
        shutil.rmtree(night.path)
        shutil.copytree(tmp_path / "fresh", night.path, symlinks=True)
        for turn in night.kept.glob("turn.*"):
            shutil.rmtree(turn)
        notices.unlink(missing_ok=True)
        path, leads = night.path / name, outside / "canary" if what == "files" else outside
        plant = f'[ ! -e "$t" ] || mv "$t" "$t.moved"; ln -s {leads} "$t"'
        night.turns(f't={_as_bash(path)}; [ -z "$t" ] || {{ {plant}; }}; work')
        before = _seen(outside)
        loop = night.start("--max-iterations", "2", "--notify", f"echo told >> {notices}")
        status = loop.finished()
        assert _seen(outside) == before, name
        assert status in (0, night.example.used_up, 1, 4), (name, loop.said)
        assert notices.exists(), (name, loop.said)
        assert night.alive() == [], name
        if status not in (0, night.example.used_up):
            assert str(leads) in loop.said, (name, loop.said)
            assert "next:" in loop.said, (name, loop.said)
        if not path.is_symlink():
            assert night.record()["end"], name
        lock = night.state / ".ralph_bridge.lock"
        if lock.is_file() and not lock.is_symlink():
            with lock.open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for link in [each for each in night.path.rglob("*") if each.is_symlink()]:
            link.unlink()
            if (moved := link.with_name(f"{link.name}.moved")).exists():
                moved.rename(link)
        night.turns()
        again = night.start("--max-iterations", "1")
        assert again.finished() in (0, night.example.used_up), (name, again.said)


def _written(night: Project) -> Iterator[str]:
    """The files that there are while the second turn of a run works, but for what people write."""
    state = ".claude" if night.example.counts_on else ".ralph"
    there = night.kept / "there"
    night.turns("work", f"find {state} progress.txt -type f > {shlex.quote(str(there))}; work")
    assert night.start("--max-iterations", "2").finished() in (0, night.example.used_up)
    for name in sorted(there.read_text().splitlines()):
        if not _MAY_BE_LINKED.fullmatch(f"/{name}") or "prompt.md" in name:
            yield name
