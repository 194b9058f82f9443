"""What ``ralph-bridge doctor`` says where there is nothing for a loop yet: the shortest way to a first one."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

from bridge import resources
from bridge.clis import DEFAULT_DRIVER
from bridge.errors import BridgeError
from bridge.setups.diagnosis import DoctorCheck, Examined, checks, failed, warned

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SIGNS = (".ralph", ".ralphrc", "ralph", "PROMPT.md", "@fix_plan.md", ".claude/ralph", ".claude/ralph-state.json")


def is_blank(folder: Path) -> bool:
    """Say whether a folder has nothing that any loop would have put there, or look for."""
    return not any(os.path.lexists(folder / name) for name in _SIGNS)


class FirstCase(NamedTuple):
    """What the checks get to see; see :class:`bridge.setups.diagnosis.Case`."""

    project: Path
    env: Mapping[str, str]


def _git(case: FirstCase) -> Examined:
    """The plain loop runs without; most CLIs want one."""
    found = checks.git(case)
    return found if found.status == "passed" else warned(f"{found.detail}: some CLIs refuse", found.hint)


def _way(case: FirstCase) -> Examined:
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


def _installed(case: FirstCase) -> list[str]:
    """Name the shipped drivers whose CLI is on PATH; Claude Code's first, as `run` takes it."""
    from bridge.driver import Driver

    found = []
    for name in resources.scripts_in([resources.shipped("drivers")], without=resources.NOT_DRIVERS):
        try:
            with Driver.load(name, env=dict(case.env), timeout=5) as driver:
                if shutil.which(driver.cli_binary(), path=case.env.get("PATH")):
                    found.append(name)
        except BridgeError:
            continue
    return sorted(found, key=lambda name: (name != DEFAULT_DRIVER, name))


CHECKS: Mapping[str, DoctorCheck[FirstCase]] = {
    **checks.MACHINE,
    "git-repo": DoctorCheck("git repository with commits", _git, 60),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "ralph-project": DoctorCheck("the project is ready for a loop", _way, 60),
}
"""By their stable ids, called as in the other setups."""
