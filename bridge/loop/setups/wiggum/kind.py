"""Wiggum mode as one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.loop.setups.setup_kind import Older, PlanKind, SetupKind, newest, written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.base.git.repository import Files
    from bridge.loop.setups.declared_settings import SettingKey
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Opened, Overview, Rows, Setup


_FOLDER, _STATE, _PLUGIN = ".claude/ralph", ".claude/ralph-state.json", ".claude/ralph-loop.local.md"


def _open(
    project: Path, _setup: Setup | None, asked: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    from bridge.loop.setups.wiggum.files import Layout
    from bridge.loop.setups.wiggum.opening import open_outer, start_request

    return open_outer(Layout(project), start_request(asked), asked, tell)


def _settings() -> Sequence[SettingKey]:
    from bridge.loop.setups.wiggum.opening import SETTINGS

    return SETTINGS


def _own_files(_project: Path, _home: Path) -> Files:
    from bridge.loop.setups.wiggum.files import FILES

    return FILES


def _protected(_project: Path, _home: Path) -> tuple[str, ...]:
    from bridge.loop.setups.wiggum.files import PROTECTED

    return PROTECTED


def _overview(project: Path, _setup: Setup | None, state: Path, _now: float) -> Overview:
    from bridge.base import timestamps
    from bridge.loop.engine.run_record import read_run
    from bridge.loop.setups.wiggum.controls import overview
    from bridge.loop.setups.wiggum.files import Layout

    layout = Layout(project)
    seen = overview(layout)
    if seen["iteration"] is None:
        return seen, None
    # Other programs' states don't say when they were written, and none was after it was.
    latest = written([layout.state]) or written([layout.archive])
    at = min(timestamps.parse_iso(seen["updated_at"]) or latest, latest)
    if seen["mode"] == "hook" and not seen["outcome"]:
        return seen, Older("session", None, float("inf"))
    if seen["outcome"]:  # it may have been closed by hand since
        return seen, Older("ended", seen["outcome"], at)
    return seen, None if read_run(state) is not None else Older("killed", None, latest)


def _rows(seen: dict[str, Any], _now: float) -> Rows:
    from bridge.loop.setups.wiggum.controls import loop_rows

    return loop_rows(seen)


def _checks(project: Path, _setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.loop.setups import PLAIN, kinds

    return kinds()[PLAIN].checks(project, None, env)


def _reset(project: Path) -> list[str]:
    from bridge.loop.setups.wiggum import controls, files

    layout = files.Layout(project)
    if not (layout.state.exists() or layout.folder.is_dir()):
        return []
    state = files.latest_state(layout)
    if state is None or not state.breaker.is_open:
        return []
    return [f"wiggum's {controls.reset(layout)}"]


KIND = SetupKind(
    name="wiggum",
    title="Wiggum mode",
    page="wiggum",
    folders=(_FOLDER,),
    signs=((_STATE,), (_FOLDER,)),
    marks=((_STATE,),),
    options=frozenset(("driver", "agent", "task", "promise", "live")),
    settings=_settings,
    state=lambda project, _setup: project / _FOLDER,
    open=_open,
    own_files=_own_files,
    protected=_protected,
    steps="logs/loop.log",
    texts=lambda state: newest(state / "logs", "iteration_*.log"),
    traces=lambda project, _state: (project / _STATE, project / _PLUGIN, project / _FOLDER / "archive"),
    overview=_overview,
    rows=_rows,
    checks=_checks,
    plan=PlanKind(files=("fix_plan.md",), wide=True, asks="task"),
    own_per_task=("PROMPT.md", "fix_plan.md", "progress.txt"),
    carried=(_STATE,),
    begun=lambda project: (project / _STATE).is_file(),
    reset=_reset,
)
