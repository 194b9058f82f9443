"""The providers of boxes on this machine, and a home with a project in it to box turns of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.process.ask import ask
from bridge.loop.sandbox.box import Box
from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.base.process.ask import Ran
    from bridge.loop.sandbox.box_policy import Provider

_CONF = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "{runtime}"
"""


@cache
def usable(provider: Provider, conf: Path) -> Mapping[str, str] | None:
    """Variables with which a provider works here, or None. Podman may want another runtime, and lower limits."""
    tried: list[dict[str, str]] = [{}]
    if provider == "podman":
        for runtime in filter(shutil.which, ("crun", "runc")):
            path = conf / f"{runtime}.conf"
            path.write_text(_CONF.format(runtime=runtime))
            tried.append({"CONTAINERS_CONF": str(path)})
    for more in tried:
        if probe(Wishes(provider=provider), {**os.environ, **more}) is None:
            return more
    return None


@dataclass(frozen=True)
class Place:
    """A home, and a project in it."""

    home: Path
    project: Path
    wanted: Wishes
    env: Mapping[str, str]

    def wants(self, **more: object) -> Place:
        return replace(self, wanted=replace(self.wanted, **more))  # type: ignore[arg-type]

    @property
    def box(self) -> Box:
        return Box(self.project, self.wanted, (".ralph/logs",))

    def turn(self, script: str, *words: str, stdin: bytes = b"", box: Box | None = None) -> Ran:
        """Run a bash script as the CLI of a turn, to its end."""
        program = self.home / "bin/claude"
        program.write_text(f"#!/bin/bash\n{script}")
        program.chmod(0o755)
        boxed = (box or self.box).command([str(program), *words], self.env)
        with boxed.standing():
            return ask(boxed.argv, cwd=self.project, env=boxed.env, stdin=stdin, patience=100)


@contextmanager
def image_of(place: Place, name: str, programs: Mapping[str, str], also: Sequence[str] = ()) -> Iterator[None]:
    """An image of a bash, `programs` by name, scripts, and `also` of this machine's programs."""
    root, tar, client = place.home.parent / "image", place.home.parent / "image.tar", place.wanted.provider
    own = ["/bin/bash", "/bin/sh", "/bin/true", "/bin/cat", *also]
    listed = subprocess.run(["ldd", *own], capture_output=True, text=True, check=True).stdout
    libraries = {word for word in listed.split() if word.startswith("/lib") and ":" not in word}
    for path in {*own, *libraries}:
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path[1:])
    (root / "usr/bin").mkdir(parents=True)
    (root / "tmp").mkdir()
    for each, text in programs.items():
        (root / "bin" / each).write_text(text)
        (root / "bin" / each).chmod(0o755)
    with tarfile.open(tar, "w") as archive:
        archive.add(root, ".")
    subprocess.run([client, "import", tar, name], check=True, env=place.env, capture_output=True)
    try:
        yield
    finally:
        subprocess.run([client, "rmi", "--force", name], env=place.env, capture_output=True, check=False)


def make_place(folder: Path, provider: Provider, more: Mapping[str, str]) -> Place:
    home = folder / "home"
    project = home / "my próject, x"
    for name in (".ssh", ".claude", "bin", "other"):
        (home / name).mkdir(parents=True)
    (home / ".ssh/id").write_text("secret")
    (home / ".claude/settings.json").write_text("{}")
    (project / ".ralph/logs").mkdir(parents=True)
    (project / ".ralph/PROMPT.md").write_text("Go on.\n")
    path = f"{home}/bin:{os.environ['PATH']}"
    env = {**os.environ, **more, "HOME": str(home), "PATH": path, "AWS_SECRET_ACCESS_KEY": "s"}
    subprocess.run(["git", "init", "-q"], cwd=project, check=True, env=env)
    return Place(home, project, Wishes(provider=provider, memory_mb=512, processes=200), env)


@dataclass(frozen=True)
class Ordinary:
    """A user without privileges.

    Attributes:
        words: in front of a command that they are to run, which keeps its process id.
        python: an interpreter that they may run.
        folder: of theirs.
    """

    words: tuple[str, ...]
    python: str
    folder: Path

    @property
    def path(self) -> str:
        """PYTHONPATH, for a `python` that is another than that of the tests."""
        return os.pathsep.join(filter(None, sys.path))

    def owns(self, folder: Path) -> None:
        """Give them all that lies there."""
        if self.words:
            subprocess.run(["chown", "-RPh", f"{self.words[1].split('=')[1]}:", folder], check=True)


@contextmanager
def ordinary_user() -> Iterator[Ordinary | None]:
    """Whoever tests; where that is root, a user who is made, or None where they may run no Python of ours."""
    with tempfile.TemporaryDirectory(prefix="ordinary-") as folder:
        if os.geteuid():
            yield Ordinary((), sys.executable, Path(folder))
            return
        name = f"ralph-{os.getpid()}"
        subprocess.run(["useradd", "--no-create-home", "--user-group", name], check=True)
        try:
            words = ("setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups", "--")
            shutil.chown(folder, name, name)
            found = (os.path.realpath(sys.executable), shutil.which("python3", path="/usr/local/bin:/usr/bin"))
            users = [Ordinary(words, each, Path(folder)) for each in found if each is not None]
            yield next(filter(_runs, users), None)
        finally:
            subprocess.run(["userdel", name], check=True, capture_output=True)


def _runs(user: Ordinary) -> bool:
    # setpriv still starts what only root may: whether they may see it is asked behind that.
    code = "import os, sys, bridge.loop.engine.runner, tree_sitter_bash, yaml; os.stat(sys.argv[1])"
    command = [*user.words, user.python, "-c", code, user.python]
    return not subprocess.run(
        command, env={**os.environ, "PYTHONPATH": user.path}, cwd="/", capture_output=True, check=False
    ).returncode
