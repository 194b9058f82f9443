"""A script in a fresh project, by itself or by ``run --script``, and what can be seen of it afterwards.

`Trial.alone` and `Trial.hosted` make the same folder again (the same paths, dates and stand-ins for the CLIs), run
the script in it and look: calls, output, exit status, files, history, the remote. `differences` compares two looks.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.command import run_bytes
from tests.script.scripted import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ALONE_PATIENCE = 60.0
DATE = "2026-03-01T12:00:00+00:00"
PLAN = '# Plan\n\n- [ ] First: add a greeting\n- [ ] Second: "quote" it\n- [ ] Third: `$HOME` stays as it is\n'
STORIES = {
    "branchName": "ralph/greeting",
    "userStories": [{"id": f"US-00{n}", "title": f"Story {n}", "passes": False} for n in (1, 2, 3)],
}
FILES = {
    "PROMPT.md": 'Read IMPLEMENTATION_PLAN.md.\nDo the next open task; "one" only.\n\n',
    "IMPLEMENTATION_PLAN.md": PLAN,
    "tasks.txt": 'add a greeting\nsay "hello" to $USER\n  third, with   blanks \\ and a slash\n',
    "prd.json": json.dumps(STORIES, indent=2) + "\n",
    "src/app.txt": "app\n",
    ".gitignore": "*.log\n/logs/\n",
}
WORK = {
    "text": "Did the next task.",
    "earlier": ["I look at the plan."],
    "tick": "IMPLEMENTATION_PLAN.md",
    "append": {"src/app.txt": "more\n"},
    "commit": "Do a task",
}
REPLIES: Mapping[str, Mapping[str, Any]] = {
    "work": WORK,
    "dirty": {key: value for key, value in WORK.items() if key != "commit"},
    "done": WORK | {"text": "All is done.\n\n<promise>COMPLETE</promise>"},
    "idle": {"text": "Nothing to do."},
}
"""Replies that shapes name; any other is written out, with one of these as its ``base`` or none."""

# What differs because a program stands between script and CLI, and what bash counts by itself.
_INCIDENTAL = {"PATH", "_", "OLDPWD", "SHLVL", "PWD"}
_OURS = re.compile(r"RALPH_BRIDGE_|RALPH_SCRIPT_")
_RECORDS = re.compile(r"\.ralph(/|$)")
"""What the host keeps in a project; of a script that has files of these names itself, they are compared."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A way in which people write such scripts.

    `calls` counts those of all CLIs, `turns` those that a host can know to be turns (all, unless it says so); both,
    and `status`, are what the script comes to by itself. ``{world}`` in texts is the folder of the trial, ``~/`` in
    names of files the home. `mask` matches what differs from run to run. `not_yet`: why it is known to differ.
    `by_bash`: the script may be executed, which only a shell can. `begun_with`: what its user
    starts it with, where it isn't started by itself.
    """

    name: str
    script: str
    replies: tuple[Mapping[str, Any], ...] = ()
    calls: int = 1
    turns: int | None = None
    status: int = 0
    path: str = "ralph.sh"
    cwd: str = "."
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    parallel: bool = False
    executable: bool = True
    by_bash: bool = False
    begun_with: tuple[str, ...] = ("bash",)
    mask: str = ""
    not_yet: str = ""


@dataclass(kw_only=True)
class Seen:
    """What a run of a script has left: its calls as records, texts by name, the exit status."""

    status: int
    calls: list[dict[str, Any]]
    stdout: bytes
    stderr: bytes
    read: list[str]
    files: dict[str, str]
    git: dict[str, str]


class Trial:
    """A folder in which a shape can be run again and again."""

    def __init__(self, shape: Shape, folder: Path) -> None:
        self.shape = shape
        self.world = folder / "world"
        self.state = folder / "state"
        self.project = self.world / "project"
        self._pristine = folder / "pristine"
        for each in (self.world, self.state, self._pristine):
            shutil.rmtree(each, ignore_errors=True)
        self._make()
        self.world.rename(self._pristine)

    def alone(self) -> Seen:
        """Run the script as its user would."""
        self._renew()
        alone = self.shape.executable and not self.shape.by_bash
        command = [self._script] if alone else [*self.shape.begun_with, self._script]
        done = subprocess.run(
            [*command, *self.shape.arguments],
            cwd=self.project / self.shape.cwd,
            env=self.environment(),
            input=self.shape.stdin.encode(),
            capture_output=True,
            timeout=ALONE_PATIENCE,
            check=False,
        )
        return self._look(done)

    def hosted(self, *options: str) -> Seen:
        """Run it by ours, without a terminal."""
        self._renew()
        words = [
            "run",
            "--script",
            self._script,
            *options,
            *(["--", *self.shape.arguments] if self.shape.arguments else []),
        ]
        cwd = self.project / self.shape.cwd
        return self._look(run_bytes(words, cwd=cwd, env=self.environment(), stdin=self.shape.stdin.encode()))

    def turns(self) -> int:
        """How many the host has on record."""
        return sum(1 for _ in _lines(self.project / ".ralph/logs/turns.jsonl"))

    def environment(self) -> dict[str, str]:
        """That of the user; `shape` may add to it."""
        return {
            **{
                name: os.environ[name] for name in ("LANG", "TERM", "TZ", "RALPH_BRIDGE_COLD") if name in os.environ
            },
            "PATH": f"{self.world / 'bin'}:/usr/local/bin:/usr/bin:/bin:{os.environ['PATH']}",
            "HOME": str(self.world / "home"),
            "TMPDIR": str(self.world / "tmp"),
            "USER": "ada",
            "IS_SANDBOX": "1",
            "XDG_STATE_HOME": str(self.state),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": DATE,
            "GIT_COMMITTER_DATE": DATE,
            **{name: value.replace("{world}", str(self.world)) for name, value in self.shape.env.items()},
        }

    @property
    def _script(self) -> str:
        path = os.path.relpath(self.shape.path, self.shape.cwd)
        return path if "/" in path else f"./{path}"

    def _renew(self) -> None:
        """The same files at the same paths as each time: what a script prints of them is the same, too."""
        shutil.rmtree(self.world, ignore_errors=True)
        shutil.copytree(self._pristine, self.world, symlinks=True)

    def _make(self) -> None:
        for name in ("bin", "home", "tmp", "project"):
            (self.world / name).mkdir(parents=True)
        (self.world / "replies.json").write_text(json.dumps(self.shape.replies))
        _install(self.world / "bin", self.shape.programs or PROGRAMS)
        (self.world / "home/.gitconfig").write_text(
            "[user]\n\tname = Ada\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = main\n"
        )
        for path, content in (FILES | dict(self.shape.files) | {self.shape.path: self.shape.script}).items():
            content = content.replace("{world}", str(self.world))
            where = self.world / "home" / path[2:] if path.startswith("~/") else self.project / path
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_bytes(content.encode(errors="surrogateescape"))
            if self.shape.executable if path == self.shape.path else content.startswith("#!"):
                where.chmod(0o755)
        env = self.environment()
        for words in (
            "init --quiet --template=",
            "add --all",
            "commit --quiet --message Begin",
            "init --quiet --template= --bare ../remote.git",
            f"remote add origin {self.world}/remote.git",
            "push --quiet --set-upstream origin main",
        ):
            subprocess.run(["git", *words.split()], cwd=self.project, env=env, check=True)

    def _look(self, done: subprocess.CompletedProcess[bytes]) -> Seen:
        calls = [json.loads(line) for line in _lines(self.world / "calls.jsonl")]
        read = list(_lines(self.world / "read.jsonl"))
        if self.shape.parallel:
            calls.sort(key=lambda call: json.dumps(call))
            read.sort()
        env = self.environment()
        asked = {
            "history": "log --all --topo-order --format=%H|%P|%D|%an|%s",
            "index": "status --porcelain --branch",
            "remote": f"--git-dir {self.world}/remote.git for-each-ref",
            "remotes": "remote --verbose",
            "stash": "stash list",
        }
        return Seen(
            status=done.returncode if done.returncode >= 0 else 128 - done.returncode,  # as a shell says
            calls=calls,
            stdout=done.stdout,
            stderr=done.stderr,
            read=read,
            files=dict(_tree(self.project)) | {f"~/{name}": each for name, each in _tree(self.world / "home")},
            git={name: _git(self.project, env, words) for name, words in asked.items()},
        )


def _install(folder: Path, names: Sequence[str]) -> None:
    head = f"#!{os.path.realpath(sys.executable)} -IS\n"
    code = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    code += "from scripted import main\nmain(__file__)\n"
    for name in names:
        (folder / name).write_text(head + code)
        (folder / name).chmod(0o755)


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        yield from path.read_text().splitlines()


def _git(folder: Path, env: Mapping[str, str], words: str) -> str:
    done = subprocess.run(["git", *words.split(" ")], cwd=folder, env=env, capture_output=True, check=False)
    return (done.stdout + done.stderr).decode(errors="surrogateescape")


def _tree(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file below, but git's own: its path, and its kind with what it holds."""
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *folders]:
            path = os.path.join(where, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                what = f"link to {os.readlink(path)}"
            elif stat.S_ISREG(mode):
                data = Path(path).read_bytes()
                what = f"{mode & 0o777:o} " + (
                    data.decode("latin-1") if len(data) < 4000 else f"{len(data)} bytes {zlib.crc32(data):08x}"
                )
            else:
                what = f"{stat.S_IFMT(mode):o}"
            yield os.path.relpath(path, folder), what


# ------------------------------------------------------------------ comparing


def differences(alone: Seen, hosted: Seen, shape: Shape) -> list[str]:
    """Say what isn't the same for the script, or for whoever started it; nothing when all is."""
    found: list[str] = []
    if alone.status != hosted.status:
        found.append(f"exit status: {alone.status}, hosted {hosted.status}")
    found += _texts("stdout", masked(alone.stdout, shape), masked(hosted.stdout, shape))
    if missing := out_of(masked(alone.stderr, shape), masked(hosted.stderr, shape)):
        found.append(f"stderr: hosted, {missing!r} isn't there, or not in this order")
    found += _calls(alone.calls, hosted.calls)
    found += _texts("files that options name", *("\n".join(each.read) for each in (alone, hosted)))
    for path in sorted(alone.files.keys() | {each for each in hosted.files if not _RECORDS.match(each)}):
        before, after = alone.files.get(path, "isn't there"), hosted.files.get(path, "isn't there")
        found += _texts(f"file {path}", masked(before.encode(), shape), masked(after.encode(), shape))
    for name, text in alone.git.items():
        found += _texts(f"git: {name}", text, hosted.git[name])
    return found


def masked(data: bytes, shape: Shape) -> str:
    """As text, without what no two runs have in common: ids in bash's own messages, and what `shape` names."""
    text = re.sub(r"(line \d+:) +\d+ ", r"\1 PID ", data.decode("latin-1"))
    return re.sub(shape.mask, "...", text) if shape.mask else text


def out_of(some: str, more: str) -> str | None:
    """The first line of `some` that doesn't come in `more`, after those before it; None when all do."""
    rest = iter(more.splitlines(keepends=True))
    for line in some.splitlines(keepends=True):
        if not any(each.startswith(line) for each in rest):  # behind one without an end, others may go on
            return line
    return None


def _texts(title: str, alone: str, hosted: str) -> list[str]:
    if alone == hosted:
        return []
    if len(alone) + len(hosted) > 100_000:
        return [
            f"{title}: {len(alone)} characters, hosted {len(hosted)}; they differ from {_first(alone, hosted)} on"
        ]
    lines = difflib.unified_diff(alone.splitlines(True), hosted.splitlines(True), "alone", "hosted", n=1)
    return [f"{title}:\n" + "".join(f"    {line.rstrip()}\n" for line in lines if not line.startswith("@@"))]


def _first(alone: str, hosted: str) -> int:
    pairs = zip(alone, hosted, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(alone), len(hosted)))


def _calls(alone: Sequence[dict[str, Any]], hosted: Sequence[dict[str, Any]]) -> list[str]:
    found = []
    if len(alone) != len(hosted):
        words = [[f"{each['name']} {' '.join(each['argv'])}"[:200] for each in calls] for calls in (alone, hosted)]
        found.append(f"calls: {len(alone)}, hosted {len(hosted)}\n    {words[0]}\n    {words[1]}")
    for number, (one, other) in enumerate(zip(alone, hosted, strict=False), 1):
        for key in one:
            before, after = (_told(each, key) for each in (one, other))
            if before != after:
                found.append(f"call {number}, {key}: {before!r}, hosted {after!r}")
    return found


def _told(call: dict[str, Any], key: str) -> Any:
    if key == "env":
        kept = call[key].items()
        return sorted((name, value) for name, value in kept if name not in _INCIDENTAL and not _OURS.match(name))
    if key == "argv" and call["name"] == "claude":
        return _as_asked(call[key])
    return call[key]


def _as_asked(words: list[str]) -> list[str]:
    """A host that wants to know what a turn has cost may ask claude for events where the script asks for text."""
    return words
