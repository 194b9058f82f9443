"""A project whose origin is a bare repository, with a scripted ``gh``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.tasks.stand_ins.trackers import Gh

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.swarm.projects import Project


@dataclass
class Hosted:
    """A project whose origin is a bare repository, with a scripted gh."""

    project: Project
    gh: Gh
    origin: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.project.swarm("run", "--pull-requests", *words)

    def pulls(self) -> dict[str, dict[str, Any]]:
        """By the words in front of the title's colon."""
        return {each["title"].partition(":")[0]: each for each in self.gh.pulls()}

    def branches(self) -> set[str]:
        return {*self.project.git("for-each-ref", "--format=%(refname:short)", cwd=self.origin).splitlines()}

    def proposed(self, title: str) -> dict[str, Any]:
        tasks = self.project.seen()["tasks"]
        found: dict[str, Any] = next(each for each in tasks if each["title"].startswith(title))
        return found

    def hook(self, name: str, text: str) -> Path:
        path = self.origin / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def plan(self, *tasks: str) -> None:
        self.project.plan(*tasks)
        self.project.git("push", "-q", "origin", "main")


def host(project: Project, folder: Path) -> Hosted:
    origin = folder / "acme" / "app.git"
    project.git("init", "-q", "--bare", "-b", "main", str(origin))
    project.git("remote", "add", "origin", str(origin))
    project.git("push", "-q", "origin", "main")
    gh = Gh(folder / "tracker", remote=origin)
    project.env["PATH"] = f"{gh.bin}:{project.env['PATH']}"
    return Hosted(project, gh, origin)
