"""A project of the setup, and the command line in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bridge.loop.setups.dot_ralph.folder import Folder, locate
from bridge.loop.setups.dot_ralph.settings import KEYS
from tests import command
from tests.setups.bmalph.agents import CLIS

ROOT = Path(__file__).resolve().parents[3]
NOW = 1_767_323_045.0  # 2026-01-02T03:04:05+00:00
OURS = {name for key in KEYS for name in (key.name, key.alias)} | {"RALPH_DIR", "NO_COLOR", "FORCE_COLOR"}


@dataclass
class Project:
    """A folder with ``.ralph``, a git repository where wanted, and a ``bin`` in front of PATH."""

    path: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Folder:
        return locate(self.path, {})

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.path, capture_output=True, text=True, check=True)
        return done.stdout

    def repository(self) -> None:
        self.git("init", "-q", "-b", "main")
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        self.git(*identity, "commit", "-q", "--allow-empty", "-m", "first")

    def cli(self, name: str, code: str) -> None:
        self.write(f"bin/{name}", f"#!/usr/bin/env bash\n{code}\n", 0o755)

    def environment(self, **more: str) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if name not in OURS}
        path = f"{self.path / 'bin'}:{env['PATH']}"
        return env | {"PATH": path, "PYTHONPATH": str(ROOT), "TZ": "UTC"} | self.env | more

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        done = command.run(words, cwd=self.path, env=self.environment(**more))
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def controller(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Start ``ralph_loop.sh`` as `bmalph run` does."""
        return self.program(["bash", "./.ralph/ralph_loop.sh", *words], **more)

    def program(self, words: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            words,
            cwd=self.path,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        return command.start(words, cwd=self.path, env=self.environment(**more))

    def finished(self, process: subprocess.Popen[str]) -> int:
        """Wait for its end; its exit code."""
        _, err = process.communicate(timeout=60)
        assert "Traceback" not in err, err
        return process.returncode

    def files(self) -> set[str]:
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*") if ".git" not in path.parts}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.write(".ralph/PROMPT.md", "Do the next task.\n")
    return made


@pytest.fixture
def installed(project: Project) -> Project:
    """What `bmalph init` leaves, as far as it matters: controller, driver, settings, plan, repository, CLI."""
    project.write(
        ".ralph/ralph_loop.sh",
        '#!/bin/bash\n# bmalph-version: 2.11.0\nset -e\necho original "$@"\n',
        0o755,
    )
    (project.path / ".ralph/drivers").mkdir()
    shutil.copy(ROOT / "drivers/claude-code.sh", project.path / ".ralph/drivers")
    project.write(".ralph/.ralphrc", 'PLATFORM_DRIVER="${PLATFORM_DRIVER:-claude-code}"\n')
    project.write(".ralph/@fix_plan.md", "- [x] Story 1.1: one\n- [ ] Story 1.2: two\n")
    project.write(".gitignore", ".ralph/*\nbin/\n")
    project.cli("claude", "echo 2.1.9 '(Claude Code)'")
    project.repository()
    return project


@pytest.fixture
def looping(installed: Project) -> Project:
    """A project with three open tasks, and no waits."""
    for name in CLIS:
        source = ROOT / "drivers" / f"{name}.sh"
        (installed.path / ".ralph/drivers" / source.name).write_bytes(source.read_bytes())
    installed.write(
        ".ralph/@fix_plan.md", "".join(f"- [ ] Story 1.{n}: task {n}\n  > as a user\n" for n in (1, 2, 3))
    )
    installed.write(".gitignore", "bin/\n.ralph/logs/\n")
    for name in ("PAUSE", "RETRY", "LIMIT_WAIT"):
        installed.env[f"RALPH_BRIDGE_{name}_SECONDS"] = "0"
    installed.git("add", "-A")
    installed.git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "installed")
    return installed
