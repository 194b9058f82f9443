"""What is the original's alone: sandboxes, an issue's life cycle, other providers. Nothing starts here then.

A sandbox that is asked for is never replaced by this machine, in no mode (``--dry-run`` and ``--live`` included).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.files import ANYWHERE, read_bytes
from bridge.setups.dot_ralph.controller import OriginalNeeded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bridge.setups.frankbria.settings import FrankbriaSettings

_CLAUDE = ("claude", "claude-code")


def refuse(settings: FrankbriaSettings, *, sandboxed: Sequence[str] = (), driver: str | None = None) -> None:
    """Refuse what no loop of ours does.

    Args:
        settings: of the project.
        sandboxed: options of a sandbox on the command line.
        driver: the driver that the command line names, or None.

    Raises:
        OriginalNeeded: a sandbox or an issue is asked for.
        ConfigurationError: another provider than the CLI that would run; options of a sandbox without one.
    """
    told = []
    for field, name, why in (
        ("sandbox", "SANDBOX_PROVIDER", "the agent is to run in a sandbox, and never on this machine"),
        ("github_issue", "GITHUB_ISSUE", "comments, pull request and closing of an issue"),
    ):
        if value := getattr(settings, field):
            told.append(f"{name}={value} {settings.sources[field].where}: {why}")
    if told:
        raise OriginalNeeded(
            "this project asks for what only the original does, so nothing is started\n  "
            + "\n  ".join(told)
            + "\n  next: start it with the original (~/.ralph/ralph_loop.sh), or take that setting out"
        )
    if sandboxed:
        raise ConfigurationError(
            f"{sandboxed[0]} is about a sandbox, and none is asked for: nothing is started\n"
            "  next: leave it out, or start the original (~/.ralph/ralph_loop.sh) with --sandbox"
        )
    if settings.provider and settings.provider.lower() not in (*_CLAUDE, _name(driver)):
        source = settings.sources["provider"]
        runs = _name(driver) or "claude"
        raise ConfigurationError(
            f"AGENT_PROVIDER={settings.provider} {source.where}: the CLI that would run is {runs}"
            f"\n  next: --driver {settings.provider}, where there is such a driver, or take that setting out"
        )


def provider_scripts(project: Path, env: Mapping[str, str]) -> list[Path]:
    """Find scripts of the provider contract that the original plans (``lib/agents/NAME.sh``): they are not run."""
    home = env.get("HOME") or os.path.expanduser("~")
    folders = (project / ".ralph/lib/agents", project / "lib/agents", type(project)(home) / ".ralph/lib/agents")
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.sh")) if _planned(path)]


def _planned(path: Path) -> bool:
    text = read_bytes(path, root=ANYWHERE).decode("utf-8", "replace")
    return all(f"{path.stem}_{name}" in text for name in ("build_command", "normalize", "capabilities"))


def _name(driver: str | None) -> str:
    return os.path.basename(driver or "").removesuffix(".sh")
