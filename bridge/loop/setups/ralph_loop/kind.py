"""A ralph-loop setup as one object, and how it is recognised: a folder called ``.ralph`` alone proves nothing.

Four systems own such a folder. This one has, at the project's root or in ``.ralph/``: the controller ``ralph``, a
``config`` that sets AGENT, and ``agents/*.sh`` of which one defines ``agent_invoke``.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.base.files import ANYWHERE, confine, read_bytes, stays_inside
from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.loop.setups.setup_kind import Installation, Older, PlanKind, Setup, SetupKind, newest, written

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.base.git.repository import Files
    from bridge.loop.setups.declared_settings import SettingKey
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Adopted, Opened, Overview, PlannedTask, Rows


NAME = "ralph-loop"
_AGENT = re.compile(rb"^[ \t]*(?:export[ \t]+|declare[ \t]+-x[ \t]+)?AGENT=", re.MULTILINE)
_INVOKE = re.compile(rb"^[ \t]*(?:function[ \t]+)?agent_invoke\b", re.MULTILINE)


def detect(folder: Path) -> Setup | None:
    """Recognise the setup of the project `folder`, symbolic links such as ``./ralph -> .ralph/ralph`` resolved."""
    whole = (at(folder, each) for each in _controllers(folder) if not _lacks(each.parent))
    return next(whole, None)


def _found(project: Path) -> Setup | None:
    """Find one; refuse one that lies elsewhere, where its state would lie, too."""
    confine(project)
    found = detect(project)
    if found is not None and not stays_inside(found.home, root=project):
        raise ProjectUnusable(
            f"{project}: its controller is a link out of it, to {found.controller}, where its state would lie"
            f"\n  next: start {found.controller} itself, or put it into the project with its files"
        )
    return found


def missing(folder: Path) -> tuple[str, ...]:
    """What of the signature is missing where it comes nearest, a sentence each; empty when nothing is."""
    answers = [
        tuple(f"{_shown(folder, controller.parent / name)} {lack}" for name, lack in _lacks(controller.parent))
        for controller in _controllers(folder)
    ]
    none = f"there is no controller, neither {folder / 'ralph'} nor {folder / '.ralph' / 'ralph'}"
    return min(answers, key=len, default=(none,))


def _nearly(folder: Path) -> Setup | None:
    """The nearest there is to a setup: a controller with any other part of the signature beside it."""
    near = (each for each in _controllers(folder) if len(_lacks(each.parent)) < 2)
    return next((at(folder, controller) for controller in near), None)


def at(project: Path, controller: Path) -> Setup:
    """The setup whose controller is this file, whatever else is there: its own checks will tell."""
    home = controller.parent
    parts = [controller, home / "config", *_agents(home)]
    if (filter_script := home / "lib" / "plan-filter.sh").is_file():
        parts.append(filter_script)
    return Setup(NAME, project, home, controller, tuple(_shown(project, part) for part in parts if part.exists()))


def _controllers(folder: Path) -> Iterator[Path]:
    for path in (folder / "ralph", folder / ".ralph" / "ralph"):
        if path.is_file():
            yield path.resolve()


def _lacks(home: Path) -> list[tuple[str, str]]:
    lacks = []
    if not (home / "config").is_file():
        lacks.append(("config", "is missing"))
    elif not _AGENT.search(_read(home / "config")):
        lacks.append(("config", "sets no AGENT="))
    if not any(_agents(home)):
        there = (home / "agents").is_dir()
        lacks.append(("agents/*.sh", "defines no agent_invoke" if there else "is missing"))
    return lacks


def _agents(home: Path) -> Iterator[Path]:
    for script in sorted((home / "agents").glob("*.sh")):
        if _INVOKE.search(_read(script)):
            yield script


def _read(path: Path) -> bytes:
    with suppress(OSError):
        return read_bytes(path, root=ANYWHERE)
    return b""


def _shown(folder: Path, path: Path) -> str:
    real = os.path.realpath(folder)
    return os.path.relpath(path, real) if path.is_relative_to(real) else str(path)


# -- its parts --------------------------------------------------------------------------------------


def _open(
    _project: Path, setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    from bridge.loop.setups.ralph_loop.opening import open_loop

    assert setup is not None
    return open_loop(setup, options, tell)


def _settings() -> Sequence[SettingKey]:
    from bridge.loop.setups.ralph_loop.settings import SETTINGS

    return SETTINGS


def _own_files(project: Path, home: Path) -> Files:
    from bridge.loop.setups.ralph_loop.handler import own_files

    return own_files(home, project)


def _protected(project: Path, home: Path) -> tuple[str, ...]:
    from bridge.loop.setups.ralph_loop.handler import protected

    return protected(home, project)


def _overview(project: Path, setup: Setup | None, state: Path, _now: float) -> Overview:
    from bridge.loop.engine.run_record import read_run
    from bridge.loop.setups.ralph_loop.overview import last_session, overview

    if setup is None:
        raise ConfigurationError(f"{project} holds no ralph-loop setup")
    seen, last = overview(setup), last_session(setup.home)
    run = read_run(state)
    # A log that our record doesn't know of is that of a session of the original controller.
    if last is None or (run is not None and last.began.timestamp() <= run.changed + 2):
        return seen, None
    return seen, Older("ended" if last.ending else "killed", last.ending or None, written([last.log]))


def _rows(seen: dict[str, Any], _now: float) -> Rows:
    from bridge.loop.setups.ralph_loop.overview import rows

    return rows(seen)


def _checks(_project: Path, setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.loop.setups.ralph_loop.doctor import CHECKS, RalphCase

    assert setup is not None
    return RalphCase(setup, env), CHECKS


def _planned(text: str, _name: str) -> Sequence[PlannedTask] | None:
    from bridge.loop.setups.ralph_loop.plan import open_tasks

    return open_tasks(text)


def _ticked(text: str, headings: Collection[str]) -> tuple[str, list[str]]:
    from bridge.loop.setups.ralph_loop.plan import with_complete

    return with_complete(text, headings)


def _adopt(setup: Setup) -> Adopted:
    from bridge.loop.setups import standin

    return standin.adopt(setup.controller, NAME)


def _eject(setup: Setup) -> Adopted:
    from bridge.loop.setups import standin

    return standin.eject(setup.controller)


def _texts(state: Path) -> tuple[Path, ...]:
    return newest(state, "session-*.log")


KIND = SetupKind(
    name=NAME,
    title="ralph-loop",
    page="ralph-loop",
    folders=(".ralph/logs", "logs"),
    signs=((".ralph",), ("ralph", "config", "agents")),
    marks=((".ralph/ralph", ".ralph/config"), (".ralph/ralph", ".ralph/agents/*.sh")),
    options=frozenset(("agent", "prompt", "words", "max_idle", "process", "strict", "lift", "dry_run")),
    settings=_settings,
    state=lambda project, setup: (project if setup is None else setup.home) / "logs",
    open=_open,
    own_files=_own_files,
    protected=_protected,
    logs="",
    texts=_texts,
    traces=lambda _project, state: _texts(state),
    overview=_overview,
    rows=_rows,
    checks=_checks,
    plan=PlanKind(files=("implementation_plan.md",), planned=_planned, ticked=_ticked, asks="words"),
    copied=("ralph", "config", "agents", "prompts", "lib", "implementation_plan.md"),
    installation=Installation(_found, missing, _adopt, _eject, nearly=_nearly),
    command="bridge.cli.ralph_loop",
)
