"""What a kind of setup is whose loop keeps its state in ``.ralph``; a kind says what of it is otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.base.records import dataclass
from bridge.loop.setups.dot_ralph import folder
from bridge.loop.setups.setup_kind import Overview, Rows, Setup, SetupKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bridge.base.git.repository import Files
    from bridge.loop.setups.declared_settings import SettingKey


def _settings() -> Sequence[SettingKey]:
    """Those of drivers, and of the loops that run them."""
    from bridge.loop.setups.dot_ralph.settings import KEYS

    return KEYS


def _state(project: Path, _setup: Setup | None) -> Path:
    return folder.locate(project).path


def _own_files(project: Path, _home: Path) -> Files:
    return folder.own_files(folder.locate(project))


def _protected(project: Path, _home: Path) -> tuple[str, ...]:
    return folder.protected(folder.locate(project))


def _overview(project: Path, setup: Setup | None, state: Path, now: float) -> Overview:
    return overview(project, state, now, "" if setup is None else setup.flavour)


def overview(project: Path, state: Path, now: float, flavour: str) -> Overview:
    from bridge.loop.setups.dot_ralph.overview import examine

    return examine(folder.locate(project), state, now, flavour)


def _rows(seen: dict[str, Any], now: float) -> Rows:
    from bridge.loop.setups.dot_ralph import overview

    return overview.rows(seen, now)


_CARRIED = (
    ".ralph/.claude_session_id",
    ".ralph/.ralph_session",
    ".ralph/.exit_signals",
    ".ralph/.response_analysis",
    ".ralph/.circuit_breaker_state",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DotRalphKind(SetupKind):
    """Such a kind, with what all of them have."""

    folders: tuple[str, ...] = (".ralph",)
    signs: tuple[tuple[str, ...], ...] = ((".ralph",),)
    settings: Callable[[], Sequence[SettingKey]] | None = _settings
    state: Callable[[Path, Setup | None], Path] = _state
    own_files: Callable[[Path, Path], Files] = _own_files
    protected: Callable[[Path, Path], tuple[str, ...]] = _protected
    overview: Callable[[Path, Setup | None, Path, float], Overview] = _overview
    rows: Callable[[dict[str, Any], float], Rows] = _rows
    carried: tuple[str, ...] = _CARRIED
