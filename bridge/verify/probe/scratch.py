"""The folders that a probe works in: a HOME, a project, a scripted CLI in front of the system's programs.

Nothing of the person who runs the check is in reach by its usual name: HOME and TMPDIR are ours, and the CLI
that a script would start is a recording that answers at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import tempfile
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base.process.ladder import send
from bridge.base.process.table import environments
from bridge.scripts.stream import COMMANDS
from bridge.shell.environment import provide
from bridge.verify.probe.commands import FILES, PROMPT
from bridge.verify.probe.far import StandIns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Answers a version and what the probe has laid out for it; with a gate, waits there between two lines.
_CLI = r"""#!/bin/sh
d='@CONTROL@'
printf '%s ' "${0##*/}" "$@" >>"$d/calls"
printf '\n' >>"$d/calls"
case "${1-}" in --version | -v | -V | version) echo 99.9.9; exit 0 ;; esac
if [ -p "$d/gate" ]; then
    cat >"$d/stdin"
    for a; do printf '%s\0' "$a"; done >"$d/argv"
    pwd -P >"$d/cwd"
    cat "$d/first"
    echo 'rb: a line for people' >&2
    read -r _ <"$d/gate"
elif [ -p /dev/stdin ]; then
    cat >/dev/null # or whoever writes the prompt dies of SIGPIPE, if it is late
fi
if [ -f "$d/answer" ]; then cat "$d/answer"; fi
if [ -f "$d/status" ]; then read -r s <"$d/status"; exit "$s"; fi
exit 0
"""


_IN_TMP = re.compile(r"(?<![\w.$}/-])(?:/private|/var)?/tmp/[A-Za-z_][\w.-]*(?=[\s\"';)&|<>]|$)", re.MULTILINE)
"""Whole names of files. What has a part that only the shell knows may be anybody's."""
_BEGINS_IN_TMP = re.compile(r"(?<![\w.$}/-])(?:/private|/var)?/tmp/[A-Za-z_][\w.-]*(?=[$*?`\[{])")
"""How names begin of which only the shell knows the rest."""
_TEMPLATE = re.compile(r"X{3,}[\w.-]*$")
_MKTEMP = """#!/bin/sh
made=$(@MKTEMP@ "$@") || exit
printf '%s\\n' "$made" >>'@CONTROL@/made'
printf '%s\\n' "$made"
"""
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_MARK = re.compile(rb"TMPDIR=(.*/rb-verify-[^/]+)/tmp", re.DOTALL)
"""The TMPDIR that `Scratch` gives: nobody else's processes have it."""

How = Literal["made", "changed", "removed"]


class FileChange(NamedTuple):
    """What became of one file. folder: project, home or tmp, or none of these; name: within that."""

    how: How
    folder: str
    name: str


class Scratch:
    """One throw-away place: project (cwd), HOME, TMPDIR, the scripted CLI and what controls it."""

    def __init__(self) -> None:
        # Not ralph-bridge-: that prefix belongs to the living bash, whose leak tests count it.
        self.root = Path(tempfile.mkdtemp(prefix="rb-verify-"))
        self.project = self.root / "project"
        self.home = self.root / "home"
        self.bin = self.root / "bin"
        self.control = self.root / "control"
        for folder in (self.project / ".ralph", self.home, self.root / "tmp", self.bin, self.control):
            folder.mkdir(parents=True)
        for name, text in FILES.items():
            (self.project / name).write_text(text, newline="")
        self._in_tmp = {path for folder in self._tmp() for path in glob(f"{folder}/*") + glob(f"{folder}/.*")}
        self.names: set[str] = set()
        self.elsewhere: set[str] = set()
        self.beginnings: set[str] = set()
        self._system = [p for p in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(p)]
        self._provided = provide(COMMANDS, os.pathsep.join(self._system), f"{self.root}/provided")
        if self._provided:
            self._system.append(f"{self.root}/provided")
        shell = shutil.which("bash", path=os.pathsep.join(self._system)) or "/bin/bash"
        system = os.pathsep.join(self._system)
        self.stand_ins = StandIns(self.root / "outside", self.root / "far", self.control, shell, system)
        self.stand_ins.lay_out()
        self._system.insert(0, str(self.stand_ins.outside))
        self._note_what_is_made()

    def close(self) -> None:
        for path in self._made():
            # A script can write into the list: what was there before, or lies elsewhere, isn't a mktemp's.
            if os.path.dirname(path) not in self._tmp() or path in self._in_tmp:
                continue
            with contextlib.suppress(OSError):
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        shutil.rmtree(self.root, ignore_errors=True)

    @staticmethod
    def _tmp() -> set[str]:
        return {os.path.realpath(tempfile.gettempdir()), "/tmp", "/var/tmp"}  # noqa: S108

    def _note_what_is_made(self) -> None:
        """Put a mktemp on PATH that notes its answers: files with names of which nobody else could know are the
        script's."""
        real = shutil.which("mktemp", path=os.pathsep.join(self._system))
        if real is None:
            return
        folder = self.root / "noted"
        folder.mkdir()
        program = folder / "mktemp"
        program.write_text(_MKTEMP.replace("@MKTEMP@", shlex.quote(real)).replace("@CONTROL@", str(self.control)))
        program.chmod(0o755)
        self._system.insert(0, str(folder))

    def _made(self) -> list[str]:
        with contextlib.suppress(OSError):
            lines = (self.control / "made").read_text(errors="surrogateescape").splitlines()
            own = (f"{self.root}/", f"{os.path.realpath(self.root)}/")
            return [
                path
                for path in lines
                if path.startswith("/") and not path.startswith(own) and os.path.lexists(path)
            ]
        return []

    def environment(self) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if n == "LANG" or n.startswith("LC_")}
        own = {"HOME": str(self.home), "TMPDIR": str(self.root / "tmp"), "PATH": self.path, "TERM": "dumb"}
        return kept | own | {"USER": "ralph", "LOGNAME": "ralph"}

    @property
    def path(self) -> str:
        return os.pathsep.join([str(self.bin), *self._system])

    def path_without(self) -> str:
        """PATH without any of the CLIs: a folder of the system that has one is replaced by links to the rest."""
        folders = []
        for number, folder in enumerate(self._system):
            if not any(os.path.exists(os.path.join(folder, name)) for name in self.names):
                folders.append(folder)
                continue
            rest = self.root / f"without-{number}"
            if not rest.is_dir():
                rest.mkdir()
                for entry in os.scandir(folder):
                    if entry.name not in self.names:
                        os.symlink(entry.path, rest / entry.name)
            folders.append(str(rest))
        return os.pathsep.join(folders)

    def mention(self, text: str) -> None:
        """A script has this text: files in /tmp that it names as a whole are seen, whatever TMPDIR is."""
        found = _IN_TMP.findall(_COMMENT.sub("", text))
        self.elsewhere.update(path for path in found if not _TEMPLATE.search(path))
        self.beginnings.update(_BEGINS_IN_TMP.findall(_COMMENT.sub("", text)))
        self.stand_ins.mention(text)

    def add_cli(self, name: str) -> None:
        """Make the scripted CLI answer to `name`: a word on PATH, or a path below the private HOME."""
        base = os.path.basename(name)
        if not base or base in (".", "..") or "\0" in name:
            return
        target = self.bin / base
        if os.path.isabs(name):
            if not name.startswith(f"{self.home}/"):
                self.names.add(base)
                return
            target = Path(name)
            target.parent.mkdir(parents=True, exist_ok=True)
        self.names.add(base)
        if not target.exists():
            target.write_text(_CLI.replace("@CONTROL@", str(self.control)))
            target.chmod(0o755)

    def keep_cli(self, name: str) -> None:
        for file in self.bin.iterdir():
            if file.name != os.path.basename(name):
                file.unlink()

    def is_system_program(self, name: str) -> bool:
        """Whether the operating system itself has a program of that name, or we provide what it should have."""
        return name in self._provided or any(
            os.path.exists(f"{folder}/{name}") for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
        )

    # -- what the scripted CLI does, and did ---------------------------------------------------------

    def answer(self, text: str | None, status: int = 0) -> None:
        for name, value in (("answer", text), ("status", str(status) if status else None)):
            if value is None:
                (self.control / name).unlink(missing_ok=True)
            else:
                (self.control / name).write_text(value + "\n" * (name == "status"))

    @contextlib.contextmanager
    def gate(self) -> Iterator[Callable[[], None]]:
        """Let the CLI record what it is given, and wait between its two outputs until it is let through."""
        for name in ("argv", "stdin", "cwd"):
            (self.control / name).unlink(missing_ok=True)
        gate = self.control / "gate"
        os.mkfifo(gate)
        ours = os.open(gate, os.O_RDWR | os.O_CLOEXEC)
        try:
            yield lambda: _open(ours)
        finally:
            os.close(ours)
            gate.unlink()

    def recorded(self, name: str) -> str:
        try:
            return (self.control / name).read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return ""

    def calls(self) -> list[str]:
        log = self.control / "calls"
        if not log.exists():
            return []
        lines = log.read_text(errors="replace").splitlines()
        log.unlink()
        return lines

    def traces(self) -> list[str]:
        """Files in the project that nobody should have made: text of ours was evaluated."""
        found = sorted(p.name for p in self.project.glob("rb-evaluated*"))
        for name in found:
            (self.project / name).unlink()
        return found

    # -- what scripts do to files --------------------------------------------------------------------

    def files(self) -> dict[str, tuple[int, int, int]]:
        """The files of the project, of HOME and of TMPDIR, and what tells whether one was written to.

        Also those elsewhere that the script names as a whole, that mktemp has made for it, or whose name begins as
        it says and in which something of ours stands.
        """
        found: dict[str, tuple[int, int, int]] = {}
        theirs = (path for begin in self.beginnings for path in glob(f"{begin}*") if self._has_ours(path))
        for path in (*filter(os.path.lexists, self.elsewhere), *self._made(), *theirs):
            found[path] = (0, 0, 0)  # whether it is there, and no more: others may write to it
        folders = [self.project, self.home, self.root / "tmp"]
        while folders:
            with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif not entry.name.startswith("rb-evaluated"):
                        info = entry.stat(follow_symlinks=False)
                        found[entry.path] = (info.st_ino, info.st_size, info.st_mtime_ns)
        return found

    def changes(self, before: dict[str, tuple[int, int, int]]) -> list[FileChange]:
        """What became of the files since then, in order of their names; those of ours are put back."""
        after = self.files()
        found = []
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) != after.get(path):
                how: How = "made" if path not in before else "removed" if path not in after else "changed"
                if not path.startswith(str(self.root)):
                    if how == "made":
                        found.append(FileChange(how, "", path))
                    continue
                folder, _, name = os.path.relpath(path, self.root).partition(os.sep)
                found.append(FileChange(how, folder, name))
                if folder == "project" and name in FILES:
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "w", newline="") as file:
                        file.write(FILES[name])
        return found

    def _has_ours(self, path: str) -> bool:
        """Whether a file holds what nobody else can know of: a prompt of ours, or where we are."""
        with contextlib.suppress(OSError):
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(opened, "rb") as file:
                data = file.read(1 << 16)
                return PROMPT.strip().encode() in data or os.fsencode(self.root) in data
        return False

    def file(self, name: str, data: bytes) -> str:
        path = self.root / name
        path.write_bytes(data)
        return str(path)


def _open(gate: int) -> None:
    os.write(gate, b"\n")


def end_leftovers() -> list[int]:
    """Kill what scripts have started in sessions of their own, for scratch folders that are gone; their pids.

    Folders of other runs exist. Only on Linux can they be seen.
    """
    ended = []
    for pid, variables in environments():
        marks = (_MARK.fullmatch(each) for each in variables)
        if any(found is not None and not os.path.exists(found[1]) for found in marks):
            send(signal.SIGKILL, [pid])
            ended.append(pid)
    return ended
