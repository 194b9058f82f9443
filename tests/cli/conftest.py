"""The command line as its users meet it: a process in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

MAIN = [sys.executable, "-c", "import sys; from bridge.cli import main; sys.exit(main())"]


@dataclass
class Project:
    """A folder with ``.ralph/``, and a ``bin/`` that comes first on PATH."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        root = str(Path(__file__).resolve().parents[2])
        drop = ("PLATFORM_DRIVER", "NO_COLOR", "FORCE_COLOR", "CLAUDE_ALLOWED_TOOLS", "ALLOWED_TOOLS")
        env = {name: value for name, value in os.environ.items() if name not in drop}
        return env | {"PATH": f"{self.folder / 'bin'}:{env['PATH']}", "PYTHONPATH": root}

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def cli(self, name: str, code: str) -> None:
        """Put a bash program on PATH."""
        self.write(f"bin/{name}", f"#!/usr/bin/env bash\n{code}\n", 0o755)

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*MAIN, *arguments],
            cwd=self.folder,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments, **env) as process:
            out, err = process.communicate(timeout=100)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.write(".ralph/PROMPT.md", "Do the next task.\n")
    return made
