"""What the command line and the setups say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Setup:
    """An installation that was found.

    Attributes:
        name: key of `bridge.setups.SETUPS`.
        project: the folder that its loop works in.
        home: folder of the setup's own files, symbolic links resolved.
        controller: the file that people start, in `home`; a stand-in after ``adopt``.
        evidence: the files that showed it, relative to `project` where they lie in it.
    """

    name: str
    project: Path
    home: Path
    controller: Path
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Adopted:
    """What ``adopt`` or ``eject`` did.

    Attributes:
        controller: the file that people start.
        original: where the original is (was) kept meanwhile.
        changed: False when there was nothing to do.
        set_aside: where an older kept original went, which an update had left behind; None without one.
        told: what there is to say; empty: what is always said.
    """

    controller: Path
    original: Path
    changed: bool
    set_aside: Path | None = None
    told: str = ""


class SetupModule(Protocol):
    """What the module of a setup offers."""

    NAME: str

    @staticmethod
    def detect(folder: Path) -> Setup | None:
        """Recognise the setup in `folder` by its files, or return None."""

    @staticmethod
    def missing(folder: Path) -> tuple[str, ...]:
        """Name what of its signature is not in `folder`; empty when `detect` finds it."""

    @staticmethod
    def adopt(setup: Setup) -> Adopted:
        """Put a stand-in where the controller is."""

    @staticmethod
    def eject(setup: Setup) -> Adopted:
        """Put the original back."""
