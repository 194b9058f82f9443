"""A ralph-loop setup as one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.setups.model import Installation, Older, PlanKind, SetupKind, newest, written

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.git.repository import Files
    from bridge.setups.model import Adopted, Opened, Overview, PlannedTask, Rows, Setup
    from bridge.setups.options import RunOptions


def _open(
    _project: Path, setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    from bridge.setups.ralph_loop.opening import open_loop, request_of

    assert setup is not None
    request = request_of(setup, options.words, prompt=options.prompt, max_iterations=options.max_iterations)
    return open_loop(setup, request, options, tell)


def _own_files(project: Path, home: Path) -> Files:
    from bridge.setups.ralph_loop.store import own_files

    return own_files(home, project)


def _overview(project: Path, setup: Setup | None, state: Path, _now: float) -> Overview:
    from bridge.errors import ConfigurationError
    from bridge.loop.runs import read_run
    from bridge.setups.ralph_loop.overview import last_session, overview

    if setup is None:
        raise ConfigurationError(f"{project} holds no ralph-loop setup")
    seen, last = overview(setup), last_session(setup.home)
    run = read_run(state)
    # A log that our record doesn't know of is that of a session of the original controller.
    if last is None or (run is not None and last.began.timestamp() <= run.changed + 2):
        return seen, None
    return seen, Older("ended" if last.ending else "killed", last.ending or None, written([last.log]))


def _rows(seen: dict[str, Any], _now: float) -> Rows:
    from bridge.setups.ralph_loop.overview import rows

    return rows(seen)


def _checks(_project: Path, setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.setups.ralph_loop.doctor import CHECKS, RalphCase

    assert setup is not None
    return RalphCase(setup, env), CHECKS


def _planned(text: str) -> Sequence[PlannedTask] | None:
    from bridge.setups.ralph_loop.plan import open_tasks

    return open_tasks(text)


def _ticked(text: str, headings: Collection[str]) -> tuple[str, list[str]]:
    from bridge.setups.ralph_loop.plan import with_complete

    return with_complete(text, headings)


def _nearly(project: Path) -> Setup | None:
    from bridge.setups.ralph_loop.detect import at, home_of

    controller = home_of(project)
    return None if controller is None else at(project, controller)


def _found(project: Path) -> Setup | None:
    """Find one; refuse one that lies elsewhere, where its state would lie, too."""
    from bridge.errors import ProjectUnusable
    from bridge.files import confine, stays_inside
    from bridge.setups.ralph_loop.detect import detect

    confine(project)
    found = detect(project)
    if found is not None and not stays_inside(found.home, root=project):
        raise ProjectUnusable(
            f"{project}: its controller is a link out of it, to {found.controller}, where its state would lie"
            f"\n  next: start {found.controller} itself, or put it into the project with its files"
        )
    return found


def _missing(project: Path) -> tuple[str, ...]:
    from bridge.setups.ralph_loop.detect import missing

    return missing(project)


def _adopt(setup: Setup) -> Adopted:
    from bridge.setups import standin

    return standin.adopt(setup.controller, KIND.name)


def _eject(setup: Setup) -> Adopted:
    from bridge.setups import standin

    return standin.eject(setup.controller)


def _texts(state: Path) -> tuple[Path, ...]:
    return newest(state, "session-*.log")


KIND = SetupKind(
    name="ralph-loop",
    title="ralph-loop",
    page="ralph-loop",
    folders=(".ralph/logs", "logs"),
    signs=((".ralph",), ("ralph", "config", "agents")),
    marks=((".ralph/ralph", ".ralph/config"), (".ralph/ralph", ".ralph/agents/*.sh")),
    options=frozenset(("agent", "prompt", "words", "max_idle", "process", "strict", "lift", "dry_run")),
    state=lambda project, setup: (project if setup is None else setup.home) / "logs",
    open=_open,
    own_files=_own_files,
    logs="",
    texts=_texts,
    traces=lambda _project, state: _texts(state),
    overview=_overview,
    rows=_rows,
    checks=_checks,
    plan=PlanKind(files=("implementation_plan.md",), planned=_planned, ticked=_ticked, asks="words"),
    copied=("ralph", "config", "agents", "prompts", "lib", "implementation_plan.md"),
    installation=Installation(_found, _missing, _adopt, _eject, nearly=_nearly),
    command="bridge.cli.ralph_loop",
)
