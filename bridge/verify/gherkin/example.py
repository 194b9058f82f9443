"""A script in a folder of its own, for a scenario that says what this script does, and no other one need do."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from bridge.scripts.agent import Agent
from bridge.scripts.contract import driver_contract
from bridge.scripts.contract.scripts import kind_of_file
from bridge.scripts.driver import Driver
from bridge.scripts.provider import Provider

if TYPE_CHECKING:
    from pathlib import Path

PROMPT_FILE, PROMPT = ".ralph/PROMPT.md", "Do the next task."
OUTPUT = "output.log"
_CLI = """#!/usr/bin/env bash
printf '%s\\0' "$@" >{folder}/argv
cat >{folder}/stdin
"""


class _Example:
    """What all kinds have: a folder to work in, with a prompt, and what the CLI printed."""

    loaded: Driver | Agent | Provider

    def __init__(self, script: Path, folder: Path) -> None:
        self.script = script
        self.folder = folder
        (folder / ".ralph").mkdir(exist_ok=True)
        (folder / PROMPT_FILE).write_text(PROMPT + "\n", encoding="utf-8")

    def close(self) -> None:
        self.loaded.close()

    def printed(self, text: str) -> None:
        (self.folder / OUTPUT).write_text(text + "\n", encoding="utf-8")


class ExampleDriver(_Example):
    """A driver, or a provider adapter, which builds its commands alike."""

    def __init__(self, script: Path, folder: Path) -> None:
        super().__init__(script, folder)
        settings = {name for name, entry in driver_contract().globals.items() if entry.role == "setting"}
        env = {name: value for name, value in os.environ.items() if name not in settings}
        kind = Provider if kind_of_file(script) == "provider" else Driver
        self.loaded: Driver | Provider = kind.load(script, env=env, cwd=folder)

    def build(self, context: str = "", session: str = "") -> list[str]:
        return self.loaded.build_command(PROMPT_FILE, context, session)


class ExampleAgent(_Example):
    def __init__(self, script: Path, folder: Path) -> None:
        super().__init__(script, folder)
        self._bin = folder / "bin"
        self._bin.mkdir(exist_ok=True)
        env = dict(os.environ) | {"PATH": f"{self._bin}:{os.environ.get('PATH', os.defpath)}"}
        state = folder / ".ralph"
        settings = {"RALPH_DIR": str(state), "RALPH_HOME": ".ralph", "SESSION_LOG": str(state / "session.log")}
        self.loaded: Agent = Agent.load(script, env=env, cwd=folder, settings=settings)

    def run(self) -> None:
        path = self._bin / os.path.basename(self.loaded.cli)
        path.write_text(_CLI.format(folder=shlex.quote(str(self.folder))), encoding="utf-8")
        path.chmod(0o755)
        with open(os.devnull, "rb") as nothing, self.loaded.invoke(PROMPT_FILE, stdin=nothing.fileno()) as job:
            for _ in job:
                pass

    def command(self) -> list[str] | None:
        path = self.folder / "argv"
        if not path.exists():
            return None
        words = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
        return [self.loaded.cli, *(words if words != [""] else [])]

    def prompted(self) -> bool:
        """Whether the prompt reached the CLI: on its stdin, as an argument, or as the name of its file."""
        stdin = self.folder / "stdin"
        given = [*(self.command() or []), stdin.read_text(encoding="utf-8") if stdin.exists() else ""]
        return any(PROMPT in word or PROMPT_FILE in word for word in given)

    def close(self) -> None:
        super().close()
        shutil.rmtree(self._bin, ignore_errors=True)
