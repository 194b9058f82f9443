"""The command line as its users meet it: a process in a project of its own."""

from __future__ import annotations

import ctypes
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import command
from tests.command import MAIN

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
_IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org")


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

    def repository(self) -> None:
        """Make it a git repository with a commit, which a bmalph setup needs."""
        for words in (["init", "-q"], [*_IDENTITY, "commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run(["git", *words], cwd=self.folder, check=True)

    def cli(self, name: str, code: str) -> None:
        """Put a bash program on PATH."""
        self.write(f"bin/{name}", f"#!/usr/bin/env bash\n{code}\n", 0o755)

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        return command.start(arguments, cwd=self.folder, env=self.env | env)

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        done = command.run(arguments, cwd=self.folder, env=self.env | env)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def shell(self, code: str, *, shell: str = "sh") -> subprocess.CompletedProcess[str]:
        """Run code of a shell in which ``"$@"`` is the command."""
        done = subprocess.run(
            [shell, "-c", code, shell, *MAIN],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def raw(
        self, *arguments: str | bytes, stdin: bytes = b"", limited: bool = False, **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it with bytes in and out; `limited`: without root's right to read every file."""
        if limited:
            done = subprocess.run(
                [*MAIN, *arguments],
                cwd=self.folder,
                env=self.env | env,
                input=stdin,
                capture_output=True,
                timeout=100,
                preexec_fn=_drop_right_to_read_everything,
                check=False,
            )
        else:
            done = command.run_bytes(arguments, cwd=self.folder, env=self.env | env, stdin=stdin)
        assert b"Traceback" not in done.stderr, done.stderr
        return done

    def refused(self, *arguments: str | bytes, code: int = 2, limited: bool = False) -> str:
        """Run it on what can't work: that exit code, nothing on stdout, one error; the error."""
        done = self.raw(*arguments, limited=limited)
        told = done.stderr.decode("utf-8", "surrogateescape")
        assert (done.returncode, done.stdout) == (code, b""), told
        assert told.count("rror: ") == 1, told
        return told


def _drop_right_to_read_everything() -> None:
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "this root can't give up a right")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.write(".ralph/PROMPT.md", "Do the next task.\n")
    return made
