"""What a check of ``doctor`` gets to see, and what it answers."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.errors import BridgeError, ProgramTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bridge.driver import Driver
    from bridge.setups.bmalph.folder import Folder
    from bridge.setups.bmalph.layout import Look
    from bridge.setups.bmalph.rc import Rc
    from bridge.setups.bmalph.settings import Settings

__all__ = ["Answer", "Case", "Check", "NotLookedAt", "ask", "failed", "passed", "warned"]

Verdict = Literal["passed", "failed", "warning"]


class NotLookedAt(Exception):
    """A check can't be made because of something that another check reports; says what."""


class Answer(NamedTuple):
    """What a check found: the verdict, what was seen, and what to do about it."""

    status: Verdict
    detail: str = ""
    hint: str = ""


def passed(detail: str = "") -> Answer:
    """All is well."""
    return Answer("passed", detail)


def failed(detail: str, hint: str) -> Answer:
    """A loop would not start, or not do what it shall."""
    return Answer("failed", detail, hint)


def warned(detail: str, hint: str = "") -> Answer:
    """A loop runs, and people should know."""
    return Answer("warning", detail, hint)


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        label: what is well when it passes.
        run: the check; raises :class:`NotLookedAt`. Whatever else it raises is told as its failure.
        timeout: seconds that it may take.
    """

    label: str
    run: Callable[[Case], Answer]
    timeout: float = 15.0


class Case:
    """The project that is examined; what several checks need is found out once.

    Args:
        folder: the loop's folder.
        env: the environment that the loop would have.
    """

    def __init__(self, folder: Folder, env: Mapping[str, str]) -> None:
        self.folder = folder
        self.env = env

    @cached_property
    def look(self) -> Look:
        """What kind of project it is."""
        from bridge.setups.bmalph.layout import look

        return look(self.folder)

    @cached_property
    def rc(self) -> Rc:
        """The settings file."""
        from bridge.setups.bmalph import rc

        return rc.read(self.folder, self.env)

    @property
    def settings(self) -> Settings:
        """The settings.

        Raises:
            NotLookedAt: they can't be used, which the check of .ralphrc reports.
        """
        from bridge.setups.bmalph.settings import resolve

        try:
            return resolve(self.folder, env=self.env, rc=self.rc)
        except BridgeError as error:
            raise NotLookedAt("the settings can't be used") from error

    def load_driver(self) -> Driver:
        """Load the project's driver.

        Raises:
            BridgeError: it can't be loaded.
        """
        from bridge.driver import Driver

        return Driver.load(
            self.settings.platform_driver,
            folders=[self.folder / "drivers"],
            cwd=self.folder.project,
            env=dict(self.env),
            settings=self.settings.shell_globals(),
            timeout=10,
        )

    @cached_property
    def script(self) -> Path:
        """The driver's script."""
        from bridge.driver import find

        return find(self.settings.platform_driver, [self.folder / "drivers"])


def ask(argv: Sequence[str], case: Case, *, timeout: float = 10.0) -> tuple[int | None, str]:
    """Run a program in the project; return its status (None: it took too long) and its output.

    Raises:
        ProgramNotFound, ProgramNotStarted: it can't be started.
    """
    from bridge.loop.process import run_cli

    lines: list[bytes] = []
    with tempfile.NamedTemporaryFile(prefix="ralph-bridge-doctor-") as errors:
        try:
            status = run_cli(
                argv,
                cwd=case.folder.project,
                env=dict(case.env),
                on_stdout=lines.append,
                stderr_path=errors.name,
                timeout=timeout,
            )
        except ProgramTimeout:
            return None, ""
        with open(errors.name, "rb") as file:
            lines.append(file.read(os.sysconf("SC_PAGE_SIZE")))
    return status, b"".join(lines).decode("utf-8", "replace").strip()
