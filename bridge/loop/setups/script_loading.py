"""A script of a loop that has no setup of its kind: an agent, loaded; a driver's CLI, looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.process.argv import resolve
from bridge.base.resources import os_text
from bridge.loop.setups.dot_ralph.folder import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.scripts.agent import Agent
    from bridge.scripts.driver import Driver


def agent_of(
    project: Path,
    named: str,
    extra: Mapping[str, str],
    *,
    timeout: float | None,
    lift: bool = True,
    boxed: bool = False,
) -> Agent:
    """Load an agent where there is no setup of its kind, with what its controller would have set.

    Args:
        named: a path, or a name: of one in the project (``.ralph/agents``, ``agents``), else of a shipped one.
        timeout: seconds for each hook beside the program.
        lift: run filters that start a jq for every line in one jq.
        boxed: see :meth:`bridge.scripts.agent.Agent.load`.
    """
    from bridge.scripts.agent import Agent

    folder = Folder(project, project / ".ralph")
    base = {"RALPH_DIR": str(folder.path), "RALPH_HOME": ".ralph", "MODE": "prompt", "SPECS_DIR": "specs"}
    return Agent.load(
        os_text(named),
        folders=folder.agents,
        cwd=project,
        settings={**base, **extra},
        timeout=timeout,
        lift=lift,
        boxed=boxed,
    )


def require_driver(driver: Driver, loop: LoopSettings) -> None:
    """See whether a driver's CLI is there, before anything is changed.

    Raises:
        bridge.errors.ProgramNotFound, ProgramNotStarted, HookError: it isn't, or can't be asked for.
    """
    from tempfile import NamedTemporaryFile

    from bridge.loop.turn.driver import build_command

    with NamedTemporaryFile() as prompt:
        argv = build_command(driver, loop, prompt.name).argv
    if not (loop.box and loop.box.has_programs):
        resolve(argv, cwd=loop.project, env=loop.environment)
