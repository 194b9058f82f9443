"""bmalph's setup as one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.setups.dot_ralph import parts
from bridge.setups.model import Installation, PlanKind, SetupKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.setups.asked import RunOptions
    from bridge.setups.model import Opened, Overview, Rows, Setup


def _open(
    project: Path, _setup: Setup | None, asked: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    from bridge.setups.bmalph.opening import bmalph_run, open_loop
    from bridge.setups.dot_ralph.folder import locate

    return open_loop(locate(project), bmalph_run(asked), tell)


def _overview(project: Path, _setup: Setup | None, state: Path, now: float) -> Overview:
    from bridge.setups.bmalph.overview import examine
    from bridge.setups.dot_ralph.folder import locate

    return examine(locate(project), state, now)


def _rows(seen: dict[str, Any], now: float) -> Rows:
    from bridge.setups.bmalph.overview import rows

    return rows(seen, now)


def _checks(project: Path, _setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.setups.bmalph.doctor import CHECKS, BmalphCase
    from bridge.setups.dot_ralph.folder import locate

    return BmalphCase(locate(project), env), CHECKS


def _installation() -> Installation:
    from bridge.setups.bmalph import adopt, detect, eject, missing

    return Installation(detect, missing, adopt, eject)


KIND = SetupKind(
    name="bmalph",
    title="bmalph",
    page="bmalph",
    folders=(".ralph",),
    signs=((".ralph",),),
    options=frozenset(
        ("driver", "prompt", "calls", "max_failures", "promise", "allowed_tools", "live", "resume"),
    ),
    state=parts.state,
    open=_open,
    own_files=parts.own_files,
    texts=parts.texts,
    traces=parts.traces,
    overview=_overview,
    rows=_rows,
    checks=_checks,
    plan=PlanKind(files=(".ralph/@fix_plan.md",), always=True),
    endless=True,
    installation=_installation(),
    command="bridge.cli.bmalph",
)
