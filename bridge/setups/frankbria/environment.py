"""The agent's environment: this process's, what ``.ralphrc`` exports, what RALPH_SHELL_INIT_FILE sets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.process.ask import TOO_LONG, ask

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.frankbria.settings import FrankbriaSettings

_PATIENCE = 30.0  # s: a shell's initialisation may load version managers
_OF_BASH = frozenset({"_", "SHLVL", "OLDPWD", "PWD"})
_PRINT = 'file=$1; shift; . "$file" >&2; env -0 >&3'


def of_agent(
    project: Path, settings: FrankbriaSettings, env: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the agent's environment, and what people should be told.

    The file is the user's own shell code: bash sources it, and what it exports counts (PATH above all).

    Args:
        project: the project's folder.
        settings: of the project.
        env: of this process.
    """
    found = {**env, **settings.exported}
    if not settings.shell_init_file:
        return found, []
    name = settings.shell_init_file
    path = os.path.join(found.get("HOME", ""), name[2:]) if name.startswith("~/") else name
    if not os.path.isfile(os.path.join(project, path)):
        return found, [f"RALPH_SHELL_INIT_FILE {name} is not there; the loop goes on without it"]
    if "/" not in path:
        path = f"./{path}"  # a name alone is looked up on PATH
    code = f"exec 3>&1 >&2; {_PRINT}"
    done = ask(["bash", "-c", code, "bash", path], cwd=project, env=found, patience=_PATIENCE)
    if not done.out:
        why = f"it took longer than {_PATIENCE:g} s" if done.status == TOO_LONG else f"exit status {done.status}"
        return found, [f"RALPH_SHELL_INIT_FILE {name} can't be used: {why}; the loop goes on without it"]
    pairs = (entry.partition("=") for entry in os.fsdecode(done.out).split("\0") if entry)
    made = {key: value for key, _, value in pairs if key not in _OF_BASH}
    return made | {key: found[key] for key in _OF_BASH if key in found}, []
