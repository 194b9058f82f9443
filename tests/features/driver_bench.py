"""A scenario's driver, the folder it works in, and the results of the calls so far."""

from __future__ import annotations

import os
import re
import shutil
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError
from bridge.scripts.contract import driver_contract
from bridge.scripts.driver import Driver
from bridge.scripts.session_id import recover
from tests.features.agent_bench import AgentBench, Filtered
from tests.features.oracle import ArrayAfter, array_after
from tests.skeletons import minimal_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bridge.scripts.session_id import Recovery
    from bridge.shell import Reply

PROMPT = ".ralph/PROMPT.md"
OUTPUT = "output.log"


def decoded(text: str) -> str:
    """A text of a feature file, in which ``\\xNN`` is one byte."""
    data = re.sub(rb"\\x([0-9a-fA-F]{2})", lambda m: bytes.fromhex(m[1].decode()), text.encode())
    return data.decode("utf-8", "surrogateescape")


class Built(NamedTuple):
    """A command that was built with one of several texts.

    text: the text.
    command: what the host has.
    of_bash: what bash itself has.
    prompted: whether the program gets the prompt.
    """

    text: str
    command: list[str]
    of_bash: list[str]
    prompted: bool


class DriverBench:
    """One scenario's driver and its results.

    The driver is loaded when it is first needed, so that a scenario can set things up in any order. An error
    that a When step runs into is kept for the Then steps; one that nobody asked for fails the scenario.
    """

    def __init__(self, folder: Path, script: Path | None = None) -> None:
        self.folder = folder
        self.script = script
        self.bin = folder / "bin"
        self.env = {"HOME": str(folder), "PATH": f"{self.bin}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        self.settings: dict[str, str] = {}
        self.prompt_text = ""
        self.texts: dict[str, str] = {}
        self.recorded = b""
        self.reply: Reply | None = None
        self.replies: list[Reply] = []
        self.commands: list[list[str]] = []
        self.built_with: tuple[str, ...] = (PROMPT,)
        self.lives: list[list[str]] = []
        self.recovery: Recovery | None = None
        self.shown: bytes | None = None
        self.each: dict[str, Built] = {}
        self.answers: dict[str, str | None] = {}
        self.row: dict[str, str] = {}
        self.filtered: dict[str, Filtered] = {}
        self._driver: Driver | None = None
        self._error: BridgeError | None = None
        self._expected = False
        self.bin.mkdir()

    def file(self, name: str, content: str | bytes, mode: int = 0o644) -> Path:
        """Write a file of the scenario's folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        path.chmod(mode)
        return path

    @cached_property
    def agent(self) -> AgentBench:
        """The scenario's script as an agent."""
        assert self.script is not None, "the scenario names no agent"
        return AgentBench(self.folder, self.script, self.env)

    def minimal(self, more: str = "", without: str = "", folder: str = "drivers") -> None:
        """Make the minimal driver the one that the scenario is about."""
        self.script = self.file(f"{folder}/my-platform.sh", minimal_driver(more, without=without))

    def stand_in(self, name: str, body: str) -> Path:
        """Put a program on PATH."""
        return self.file(f"bin/{name}", f"#!/bin/sh\n{body}\n", 0o755)

    def cli_name(self) -> str:
        """Name of the driver's program, without a path."""
        with self.load() as driver:
            return os.path.basename(driver.cli_binary())

    def load(self) -> Driver:
        """A new driver in the scenario's folder and environment."""
        assert self.script is not None, "the scenario names no driver"
        return Driver.load(self.script, settings=self.settings, env=self.env, cwd=self.folder)

    @property
    def driver(self) -> Driver:
        """The scenario's driver, loaded when it is first asked for."""
        if self._driver is None:
            self._driver = self.load()
        return self._driver

    def set(self, name: str, value: str) -> None:
        """A setting for now and for a driver that is loaded later."""
        self.settings[name] = value
        if self._driver is not None:
            self._driver.set(name, value)

    def attempt(self, action: Callable[[], object]) -> None:
        """Do it, and keep what it raises."""
        try:
            action()
        except BridgeError as error:
            if self._error is not None:
                raise
            self._error = error

    def load_from(self, load: Callable[[], Driver]) -> None:
        """Replace the driver, or keep the error."""
        self.close()

        def replace() -> None:
            self._driver = load()

        self.attempt(replace)

    def expect_error(self) -> BridgeError:
        """Give the error of a When step; the scenario then goes on."""
        assert self._error is not None, "nothing went wrong"
        self._expected = True
        return self._error

    def raise_unexpected(self) -> None:
        """Raise the error of a When step that no Then step has expected."""
        if self._error is not None and not self._expected:
            raise self._error

    def finish(self) -> None:
        """End the scenario."""
        self.close()
        self.raise_unexpected()

    def close(self) -> None:
        """End the driver's shell."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def build(self, *arguments: str) -> None:
        """Build a command and keep it, or the error."""
        self.built_with = arguments
        self.attempt(lambda: self.commands.append(self.driver.build_command(*arguments)))

    def prepare(self) -> None:
        """Prepare the live command and keep it."""
        self.lives.append(self.driver.prepare_live_command())

    def look_for_id(self, name: str = OUTPUT) -> None:
        """Go through the recovery chain."""

        def look() -> None:
            # An absolute path, because the host's working folder is not the driver's.
            self.recovery = recover(self.driver, str(self.folder / name))

        self.attempt(look)

    def last_command(self) -> list[str]:
        """The command that was built last."""
        self.raise_unexpected()
        return self.commands[-1]

    def last_live(self) -> list[str]:
        """The live command that was prepared last."""
        return self.lives[-1]

    def carries_prompt(self, command: list[str]) -> bool:
        """Whether a command gives its program the prompt: as text, or as the path of the file.

        Drivers read the file with ``$(<file)``, which drops line breaks at its end.
        """
        text, path = self.prompt_text.rstrip("\n"), self.built_with[0]
        return any(argument.endswith(text) or path in argument for argument in command[1:])

    def of_bash(self, call: str, array: str, *arguments: str) -> ArrayAfter:
        """The same question put to a bash of its own."""
        assert self.script is not None
        defaults = {
            name: entry.default
            for name, entry in driver_contract().globals.items()
            if entry.default is not None and not self.env.get(name)
        }
        env = {**self.env, **defaults}
        return array_after(self.script, call, arguments, array, settings=self.settings, env=env, cwd=self.folder)

    def command_of_bash(self, *arguments: str) -> list[str]:
        """The command as bash itself has it."""
        answer = self.of_bash('driver_build_command "$@"', "CLAUDE_CMD_ARGS", *_padded(arguments))
        assert answer.status == 0
        return answer.elements

    def live_of_bash(self, *arguments: str) -> list[str]:
        """The live command as bash itself has it."""
        call = (
            'driver_build_command "$@" || return; if declare -F driver_prepare_live_command >/dev/null;'
            ' then driver_prepare_live_command; else LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); fi'
        )
        return self.of_bash(call, "LIVE_CMD_ARGS", *_padded(arguments)).elements

    def litter(self) -> Iterator[Path]:
        """Files that only an evaluated text can have made."""
        return self.folder.rglob("pwned")

    def remove_stand_ins(self) -> None:
        """Nothing but the folder of stand-ins is searched for programs, and it is empty."""
        shutil.rmtree(self.bin)
        self.bin.mkdir()
        self.env["PATH"] = str(self.bin)


def _padded(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """A host passes all three arguments, empty ones too."""
    return (*arguments, *("",) * (3 - len(arguments)))
