"""Checks of a folder with a prompt and without a setup; and of one in which there is nothing for a loop yet."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import resources
from bridge.base.clis import DEFAULT_DRIVER
from bridge.errors import BridgeError
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, checks, failed, passed
from bridge.loop.setups.dot_ralph.doctor import DRIVER, DriverCase, settings
from bridge.loop.setups.dot_ralph.owner import BMALPH
from bridge.loop.setups.dot_ralph.state_checks import STATE
from bridge.loop.setups.foreign_loops import foreign_loop
from bridge.loop.setups.options import RunOptions
from bridge.loop.setups.plain.ending import looked_for, plan_files, prompt_words
from bridge.loop.setups.plain.handler import PlainFiles
from bridge.loop.setups.plain.settings import IGNORED, SAMPLES
from bridge.loop.setups.projects import find_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_GIT = DoctorCheck("git repository with commits", checks.optional_git("some CLIs refuse"), 60)
_UNSERVED = DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved)


def _kind(case: DriverCase) -> Examined:
    return passed(f"the plain loop, with a prompt and a driver: {case.project} holds no setup")


def _prompt(case: DriverCase) -> Examined:
    if (loop := foreign_loop(case.project)) is not None:
        return passed(loop.taken(RunOptions(), case.env)[1])
    name = find_prompt(case.project, None)
    return passed(f"{name}, {(case.project / name).stat().st_size} bytes")


def _plan(case: DriverCase) -> Examined:
    """The loop ends by a signal or a promise, too."""
    loop = foreign_loop(case.project)
    words = loop.words if loop is not None else ""
    words = words or prompt_words(case.project, (loop and loop.prompt) or find_prompt(case.project, None))
    named = (loop.plan,) if loop is not None and loop.plan else ()
    found = PlainFiles(case.project, plans=(*named, *plan_files(words))).find_plan()
    if found is None:
        return passed(
            f"none ({looked_for(words)}): the loop ends by the exit signal, the promise or --max-iterations"
        )
    return checks.open_tasks(found[1], found[0])


GITIGNORE: DoctorCheck[Any] = DoctorCheck(
    "git ignores the loop's state",
    lambda case: checks.ignored(case, SAMPLES, IGNORED),
    60,
    lambda case: checks.ignore(case, SAMPLES, IGNORED),
)

CHECKS: Mapping[str, DoctorCheck[DriverCase]] = {
    **checks.MACHINE,
    "git-repo": _GIT,
    "ralph-project": DoctorCheck("the project is ready for a loop", _kind),
    "unserved": _UNSERVED,
    "ralphrc": DoctorCheck("settings can be used", settings),
    "prompt": DoctorCheck("the prompt is there", _prompt),
    "fix-plan": DoctorCheck("the fix plan has open tasks", _plan),
    **DRIVER,
    "gitignore": GITIGNORE,
    **{name: STATE[name] for name in ("status-file", "loop-lock", "second-loop", "orphaned-agents")},
}


# -- where there is nothing yet: the shortest way to a first loop ---------------------------------------------

_SIGNS = (
    *(
        f".ralph/{name}"
        for name in (*BMALPH[:1], "drivers", *BMALPH[2:], "fix_plan.md", "AGENT.md", "agents", "ralph")
    ),
    ".ralphrc",
    "ralph/agents",
    "PROMPT.md",
    "@fix_plan.md",
    ".claude/ralph",
    ".claude/ralph-state.json",
)


def is_blank(folder: Path) -> bool:
    """Say whether a folder has nothing that any loop would have put there, or look for."""
    return not any(os.path.lexists(folder / name) for name in _SIGNS) and not (folder / "ralph").is_file()


class BlankCase(NamedTuple):
    project: Path
    env: Mapping[str, str]


def _way(case: BlankCase) -> Examined:
    """Nothing is wrong, but no loop can run either; the CLI that is there decides what to type."""
    there = _installed(case)
    name = there[0] if there else DEFAULT_DRIVER
    lines = (
        "echo 'What the agent shall do.' > PROMPT.md",
        f"ralph-bridge run --driver {name} --max-iterations 5",
        "or, to see one first, without a model: ralph-bridge demo",
    )
    clis = f"drivers whose CLI is installed: {', '.join(there)}" if there else "no CLI of our drivers is installed"
    return failed(f"there is no prompt and no setup in this folder yet; {clis}", "\n          ".join(lines))


def _installed(case: BlankCase) -> list[str]:
    """Name the shipped drivers whose CLI is on PATH; Claude Code's first, as `run` takes it."""
    from bridge.scripts.driver import Driver

    found = []
    for name in resources.scripts_in("driver", [resources.shipped("drivers")]):
        try:
            with Driver.load(name, env=dict(case.env), timeout=5) as driver:
                if shutil.which(driver.cli_binary(), path=case.env.get("PATH")):
                    found.append(name)
        except BridgeError:
            continue
    return sorted(found, key=lambda name: (name != DEFAULT_DRIVER, name))


BLANK_CHECKS: Mapping[str, DoctorCheck[BlankCase]] = {
    **checks.MACHINE,
    "git-repo": _GIT,
    "unserved": _UNSERVED,
    "ralph-project": DoctorCheck("the project is ready for a loop", _way, 60),
}
