"""The drivers in plain bash, the way a loop of shell scripts uses them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import jqs

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
DUMP = 'printf "%s\\0" "${#{name}[@]}" ${{name}[@]+"${{name}[@]}"}'


class Drivers:
    """Runs snippets of bash behind a sourced driver, under `set -e` as in the original loop."""

    def __init__(self, folder: Path, bash: str) -> None:
        self.folder = folder
        self.bash = bash
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.jq = jqs.one_for_scripts(folder / "jq")

    def program(self, name: str, text: str) -> Path:
        """Put a script on PATH."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def run(
        self,
        driver: str,
        snippet: str,
        *arguments: str | bytes | Path,
        settings: Mapping[str, str] | None = None,
        options: str = "set -e",
        drivers: Path = ROOT / "drivers",
    ) -> subprocess.CompletedProcess[bytes]:
        """Source a driver, run the snippet with the arguments; settings are in the environment."""
        environment = {
            "PATH": f"{self.bin}:{self.jq}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
        }
        script = f'{options}; source "$1"; shift; {snippet}'
        return subprocess.run(
            [self.bash, "--norc", "-c", script, "loop", drivers / f"{driver}.sh", *arguments],
            env=environment | dict(settings or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.folder,
            timeout=30,
            check=False,
        )

    def answer(self, driver: str, snippet: str, *arguments: str | bytes | Path, **settings: str) -> bytes:
        """What the snippet prints; it must succeed and say nothing on stderr."""
        done = self.run(driver, snippet, *arguments, settings=settings)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    def array(
        self,
        driver: str,
        snippet: str,
        *arguments: str | bytes | Path,
        name: str = "CLAUDE_CMD_ARGS",
        options: str = "set -e",
        drivers: Path = ROOT / "drivers",
        settings: Mapping[str, str] | None = None,
    ) -> list[bytes]:
        """The array after the snippet, which must succeed silently."""
        dump = f"; IFS=' '; {DUMP.replace('{name}', name)}"
        done = self.run(driver, snippet + dump, *arguments, settings=settings, options=options, drivers=drivers)
        assert (done.returncode, done.stderr) == (0, b"")
        count, *elements = done.stdout.split(b"\0")[:-1]
        assert len(elements) == int(count) or (count == b"0" and elements == [b""])
        return elements[: int(count)]

    def prompt(self, content: bytes) -> Path:
        """A prompt file."""
        path = self.folder / "PROMPT.md"
        path.write_bytes(content)
        return path

    def command(
        self,
        driver: str,
        prompt: bytes = b"Do it.\n",
        context: str | bytes = "",
        session: str = "",
        *,
        options: str = "set -e",
        **settings: str,
    ) -> list[bytes]:
        """CLAUDE_CMD_ARGS after driver_build_command."""
        return self.array(
            driver,
            'driver_build_command "$@"',
            self.prompt(prompt),
            context,
            session,
            settings={"CLAUDE_USE_CONTINUE": "true", "CLAUDE_OUTPUT_FORMAT": "json"} | settings,
            options=options,
        )

    def live(self, driver: str, *command: str | bytes) -> list[bytes]:
        """LIVE_CMD_ARGS that driver_prepare_live_command makes of a command."""
        return self.array(
            driver, 'CLAUDE_CMD_ARGS=("$@"); driver_prepare_live_command', *command, name="LIVE_CMD_ARGS"
        )

    def shown(self, driver: str, events: bytes) -> str:
        """What the stream filter shows of events, with the jq command (ours, where there is none)."""
        program = self.answer(driver, "driver_stream_filter")
        command: list[str | bytes] = [f"{self.jq}/jq", "-j", program]
        done = subprocess.run(command, input=events, capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()


@pytest.fixture
def drivers(tmp_path: Path, bash: str) -> Drivers:
    return Drivers(tmp_path, bash)


@pytest.fixture(scope="session")
def events() -> Path:
    """Folder of small samples of events, one file per driver."""
    return ROOT / "tests" / "data" / "events"
