"""The box of a loop: what is wanted, and what of its project is to be protected."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge import telemetry
from bridge.sandbox.box import Box
from bridge.sandbox.settings import wishes
from bridge.setups.dot_ralph.folder import OF_LOOPS
from bridge.setups.unserved import AskedBox, asked_box

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from bridge.setups.options import RunOptions

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
    wanted = wishes(
        env,
        provider=options.sandbox,
        write=options.sandbox_write,
        variables=options.sandbox_env,
        network=options.sandbox_network,
        image=options.sandbox_image,
        project_asks=asks.provider,
    )
    if not wanted.boxed:
        return None
    if telemetry.wanted(options.telemetry, os.environ):
        wanted = replace(wanted, env=(*wanted.env, *telemetry.IN_BOX))
    named = (
        each for each in (options.driver, options.agent, options.prompt) if each and (project / each).is_file()
    )
    believed = dict.fromkeys(filter(None, (*protected, *named, *_of_others(project))))
    box = Box(project, asks.narrowed(wanted), tuple(believed), env)
    if not options.dry_run:
        box.require(env)
    return box


def _of_others(project: Path) -> Iterator[str]:
    """What further loops believe that a project has or could have: a turn of one could write it for the next."""
    from bridge.setups import detect, kinds
    from bridge.setups.projects import state_folders

    for folder in state_folders(project):
        yield from (os.path.join(os.path.relpath(folder, project), name) for name in OF_LOOPS)
    for setup in detect(project):
        yield from kinds()[setup.name].protected(project, setup.home)
