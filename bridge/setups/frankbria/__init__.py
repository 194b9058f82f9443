"""frankbria's setups: one loop per user (``~/.ralph``, started as ``ralph``), settings in ``.ralphrc``.

``layout`` tells one, ``rc``, ``keys`` and ``settings`` are what it shall do, ``flags`` and ``controls`` its command
line, ``opening`` the checks before a loop; ``claude`` builds the command, ``reading`` judges the answer, ``policy``
decides, ``store`` and ``recording`` keep the files; ``adoption`` stands in for ``ralph``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups.dot_ralph.signs import frankbria
from bridge.setups.frankbria import adoption
from bridge.setups.frankbria.adoption import adopt, eject

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.model import Setup

__all__ = ["NAME", "adopt", "detect", "eject", "missing"]

NAME = adoption.NAME


def detect(folder: Path) -> Setup | None:
    """Recognise the setup in the project `folder`: at least three of its four files, and nobody else's."""
    found = frankbria(folder)
    return adoption.at(folder, found) if found else None


def missing(folder: Path) -> tuple[str, ...]:
    """Name what would show the setup and is not in `folder`; empty when `detect` finds it."""
    from bridge.setups.bmalph.layout import look
    from bridge.setups.frankbria.layout import flat, folder_of, missing_parts

    if frankbria(folder):
        return ()
    if old := flat(folder):
        return (f"{', '.join(old)} lie beside the sources, as in old versions: `ralph-migrate` moves them",)
    seen = look(folder_of(folder))
    if seen.flavour == "bmalph" or seen.other:
        return (f"the project belongs to {seen.other or f'bmalph ({seen.evidence[0]})'}",)
    return (f"there is no {', no '.join(missing_parts(folder))}",)
