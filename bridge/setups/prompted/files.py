"""The files of such a setup: where they lie, how people in the project write them, which script is the original."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups.model import Setup
from bridge.setups.standin import kept

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def setup_at(name: str, project: Path, controller: Path, beside: Iterable[str], flavour: str = "") -> Setup:
    """Make the setup whose controller this is; `beside`: names in its folder that show it, where they are there."""
    home, top = controller.parent.resolve(), project.resolve()
    paths = [home / each for each in dict.fromkeys((controller.name, *beside))]
    shown = tuple(_from(top, path) for path in paths if path.is_file())
    return Setup(name, project, home, home / controller.name, shown, flavour)


def own_script(controller: Path) -> Path:
    """The controller's original, wherever it lies by now."""
    original = kept(controller)
    return original if original.is_file() else controller


def shown(setup: Setup, name: str) -> str:
    """A file in its folder, as people in the project would write it."""
    return _from(setup.project.resolve(), setup.home / name)


def _from(project: Path, path: Path) -> str:
    return str(path.relative_to(project)) if path.is_relative_to(project) else str(path)
