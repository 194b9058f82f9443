"""The box of a loop: what is wanted, and what of its project is to be protected."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.files import close
from bridge.base.git.immune import distrust
from bridge.loop.engine.observers import telemetry_variables
from bridge.loop.sandbox.box_settings import wishes
from bridge.loop.setups import detect, kinds
from bridge.loop.setups.dot_ralph.folder import OF_LOOPS
from bridge.loop.setups.projects import state_folders
from bridge.loop.setups.standin import kept
from bridge.loop.setups.unserved import AskedBox, asked_box

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from bridge.loop.sandbox.box import Box
    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.setups.options import RunOptions

OPTIONS = ("sandbox", "sandbox_write", "sandbox_env", "sandbox_network", "sandbox_image")
"""Those of a run that are about it."""


def box_of(
    project: Path,
    options: RunOptions,
    protected: Iterable[str] = (),
    *,
    env: Mapping[str, str] | None = None,
    asks: AskedBox | None = None,
) -> Box | None:
    """Give what the turns of a loop run in; None: this machine.

    Args:
        protected: paths in the project, relative to it, that nothing in the box may write to.
        env: of this process, without what the project's settings add to it; None: os.environ.
        asks: the box that the project's own settings ask for; None: they are read.

    Raises:
        ConfigurationError: a value that can't be used.
        SandboxUnavailable: such a box can't be made here.
    """
    env = os.environ if env is None else env
    asks = asked_box(project, env, given=options.settings) if asks is None else asks
    wanted = _wanted(options, env, asks)
    if not wanted.boxed:
        return None
    from bridge.loop.engine import notify
    from bridge.loop.sandbox.box import Box
    from bridge.loop.sandbox.configured_commands import run_by
    from bridge.loop.sandbox.temporary import keep_apart

    if more := telemetry_variables(options.telemetry):
        wanted = replace(wanted, env=(*wanted.env, *more))
    named = (
        each for each in (options.driver, options.agent, options.prompt) if each and (project / each).is_file()
    )
    distrust(project)
    keep_apart(project)
    top = os.path.realpath(project)
    told = (path for each in notify.commands(os.environ) for path in run_by(each, top))
    told = (os.path.relpath(each, top) for each in told if each.startswith(f"{top}/"))
    believed = dict.fromkeys(filter(None, (*protected, *named, *told, *_of_others(project))))
    signs, marks = signs_of_kinds()
    box = Box(project, asks.narrowed(wanted), tuple(believed), signs, marks, env)
    close(project)
    if not options.dry_run:
        box.require(env)
    return box


def is_boxed(project: Path, options: RunOptions, env: Mapping[str, str]) -> bool:
    """Whether turns are to run in a box.

    Raises:
        ConfigurationError: a value that can't be used.
    """
    return _wanted(options, env, asked_box(project, env, given=options.settings)).boxed


def _wanted(options: RunOptions, env: Mapping[str, str], asks: AskedBox) -> Wishes:
    return wishes(
        env,
        provider=options.sandbox,
        write=options.sandbox_write,
        variables=options.sandbox_env,
        network=options.sandbox_network,
        image=options.sandbox_image,
        project_asks=asks.provider,
    )


def _of_others(project: Path) -> Iterator[str]:
    """What further loops believe that a project has or could have: a turn of one could write it for the next."""
    for folder in state_folders(project):
        yield from (os.path.join(os.path.relpath(folder, project), name) for name in OF_LOOPS)
    for setup in detect(project):
        yield from kinds()[setup.name].protected(project, setup.home)
        for path in (setup.controller, kept(setup.controller)):  # which `eject` and a stand-in start
            yield os.path.relpath(path, project.resolve())


def signs_of_kinds() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What would make a project another kind's, at its top: the first of each group that is no plan and no state,
    and the original behind a stand-in; and what marks a kind, in whichever folder."""
    signs: list[str] = []
    for kind in kinds().values():
        loose = (*kind.plan.files, *kind.folders, *kind.appended, *kind.carried, *kind.own_per_task)
        for group in (*kind.signs, *kind.marks):
            names = (each for each in group if not any(f"{name}/".startswith(f"{each}/") for name in loose))
            signs += [each for name in [*names][:1] for each in (name, f"{name}.original")]
        signs += kind.scripts
    marks = dict.fromkeys(name for kind in kinds().values() for group in kind.marks for name in group)
    return tuple(dict.fromkeys(signs)), tuple(marks)
