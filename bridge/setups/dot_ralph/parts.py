"""Parts of a kind of setup that all have whose loop keeps its state in ``.ralph``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.git.repository import Files
    from bridge.setups.model import Overview, Rows, Setup
    from bridge.setups.settings import SettingKey


def state(project: Path, _setup: Setup | None) -> Path:
    """The folder of its lock and its record.

    Raises:
        ConfigurationError: RALPH_DIR can't be used.
    """
    from bridge.setups.dot_ralph.folder import locate

    return locate(project).path


def own_files(project: Path, _home: Path) -> Files:
    """The files that are the loop's own, and so no work."""
    from bridge.setups.dot_ralph import folder

    return folder.own_files(folder.locate(project))


def texts(state_folder: Path) -> tuple[Path, ...]:
    """What the agent says."""
    return (state_folder / "live.log",)


def traces(_project: Path, state_folder: Path) -> tuple[Path, ...]:
    """What is written while it is at work."""
    return (state_folder / "status.json",)


def settings() -> Sequence[SettingKey]:
    """Those of drivers, and of the loops that run them."""
    from bridge.setups.dot_ralph.settings import KEYS

    return KEYS


def overview(project: Path, state: Path, now: float, flavour: str = "") -> Overview:
    """Where it stands, and what its own files say of its end."""
    from bridge.setups.dot_ralph.folder import locate
    from bridge.setups.dot_ralph.overview import examine

    return examine(locate(project), state, now, flavour)


def rows(seen: dict[str, Any], now: float) -> Rows:
    """The same for people."""
    from bridge.setups.dot_ralph import overview

    return overview.rows(seen, now)
