"""What makes an object of such a kind: the parts that all of them share, filled in."""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.files import stays_inside
from bridge.setups import standin
from bridge.setups.model import Adopted, Installation, Setup, SetupKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.git.repository import Files
    from bridge.loop.plan import Plan
    from bridge.setups.model import Opened, Overview
    from bridge.setups.options import RunOptions
    from bridge.setups.prompted.job import Job

OPTIONS = frozenset(("driver", "agent", "prompt", "max_failures", "max_idle", "promise", "live", "lift", "dry_run"))
"""What all of them can be asked."""


def prompted_kind(
    *,
    name: str,
    detect: Callable[[Path], Setup | None],
    missing: Callable[[Path], tuple[str, ...]],
    module: str,
    adopt: Callable[[Setup], Adopted] | None = None,
    notes: tuple[str, ...] = (),
    believed: tuple[str, ...] = (),
    **more: Any,
) -> SetupKind:
    """Make one.

    Args:
        name, detect, missing: as for :class:`SetupKind` and :class:`Installation`.
        module: has three functions, and is imported when one is called: `job`, what a run is, by setup and options;
            `read_plan`, its plan, by the setup, for who only looks; `called`, as for :class:`SetupKind`. The first
            two raise ConfigurationError for what can't be used.
        adopt: as for :class:`Installation`; None: a stand-in takes the controller's place.
        notes: files in its home that tell of work, and are none; a folder with a ``/`` behind it.
        believed: files in its home that its loop runs or believes, which nothing in a box may write to.
        more: the other fields of :class:`SetupKind`.
    """

    job: Callable[[Setup, RunOptions], Job] = _late(module, "job")
    read_plan: Callable[[Setup], Plan | None] = _late(module, "read_plan")

    @contextmanager
    def open_loop(
        project: Path, setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
    ) -> Iterator[Opened]:
        from bridge.setups.prompted.opening import open_job

        found = _whole(setup, project)
        files = own_files(found.project, found.home)
        more = _in_home(believed, found.project, found.home)
        with open_job(job(found, options), options, tell, files, protected=more) as opened:
            yield opened

    def own_files(project: Path, home: Path) -> Files:
        from bridge.setups.plain.settings import FILES

        place = os.path.relpath(home, project.resolve())
        about = tuple(os.path.normpath(f"{place}/{each}") for each in notes)
        within = tuple(f"{path}/" for path, each in zip(about, notes, strict=True) if each.endswith("/"))
        return FILES._replace(is_about_work=lambda path: path in about or path.startswith(within))

    def found_in(project: Path) -> Setup | None:
        found = detect(project)
        if found is None or stays_inside(found.home, root=project):
            return found
        raise ProjectUnusable(
            f"{project}: the folder of {found.controller.name} is a link out of it, to {found.home}\n"
            "  next: put that folder into the project, with its files"
        )

    def overview(project: Path, setup: Setup | None, state: Path, _now: float) -> Overview:
        from bridge.setups.prompted.overview import examine

        return examine(project, state, lambda: read_plan(_whole(setup, project)))

    def checks(project: Path, setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
        from bridge.setups.prompted.doctor import CHECKS, PromptedCase

        return PromptedCase(_whole(setup, project), env, job, read_plan), CHECKS

    def _whole(setup: Setup | None, project: Path) -> Setup:
        found = setup or found_in(project)
        if found is None:
            raise ConfigurationError(f"{project} holds no {name} setup\n  next: {'; '.join(missing(project))}")
        return found

    def stand_in(setup: Setup) -> Adopted:
        return standin.adopt(setup.controller, name)

    made: dict[str, Any] = {
        "folders": (".ralph",),
        "state": lambda project, _setup: project / ".ralph",
        "own_files": own_files,
        "protected": lambda project, home: _in_home(believed, project, home),
        "settings": tuple,
        "rows": _late("bridge.setups.prompted.overview", "rows"),
        "called": _late(module, "called"),
        "options": OPTIONS,
        "prompt": lambda project, options: job(_whole(None, project), options).prompt(1),
        "installation": Installation(
            found_in, missing, adopt or stand_in, lambda setup: standin.eject(setup.controller)
        ),
    }
    return SetupKind(name=name, open=open_loop, overview=overview, checks=checks, **made | more)


def _in_home(names: Sequence[str], project: Path, home: Path) -> tuple[str, ...]:
    """Files of a setup's folder, seen from the project."""
    place = os.path.relpath(home, project.resolve())
    # At the top these are the project's notes for agents, which edit them.
    there = (each for each in names if place != "." or each not in ("CLAUDE.md", "AGENTS.md"))
    return tuple(os.path.normpath(f"{place}/{each}") for each in there)


def _late(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is called."""
    return lambda *given: getattr(import_module(module), name)(*given)
