"""A folder with a prompt and no setup, as one object."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError
from bridge.loop.setups.dot_ralph.folder import locate
from bridge.loop.setups.dot_ralph.kind import DotRalphKind, overview
from bridge.loop.setups.dot_ralph.owner import other_system
from bridge.loop.setups.foreign_loops import READERS, foreign_loop
from bridge.loop.setups.plain.ending import PLANS
from bridge.loop.setups.setup_kind import PlanKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Opened, Overview, Setup


def _open(
    project: Path, _setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    from bridge.loop.setups.plain.opening import open_loop

    return open_loop(project, options, tell)


def _overview(project: Path, setup: Setup | None, state: Path, now: float) -> Overview:
    from bridge.loop.setups import detect

    found = [setup] if setup is not None else detect(project)
    return overview(project, state, now, next((each.flavour for each in found), "") or _flat(project))


def _flat(project: Path) -> str:
    """Say that there are a prompt and no ``.ralph`` yet."""

    prompt = (project / "PROMPT.md").is_file() and not locate(project).path.exists()
    return "flat" if prompt and not other_system(project) else ""


def _checks(project: Path, _setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.loop.setups.dot_ralph.doctor import DriverCase
    from bridge.loop.setups.plain.doctor import CHECKS
    from bridge.loop.setups.project_file import project_options

    with suppress(BridgeError):  # which other checks report
        named = project_options(project, env).get("driver") or env.get("PLATFORM_DRIVER")
        loop = None if named else foreign_loop(project)
        if driver := named or (loop and loop.driver):
            env = {**env, "PLATFORM_DRIVER": driver}
    return DriverCase(locate(project), env), CHECKS


def _reset(project: Path) -> list[str]:
    from bridge.loop.setups import kinds
    from bridge.loop.setups.dot_ralph.controls import reset_state

    for kind in kinds().values():  # one that sees to the folder itself
        if kind.installation is not None and kind.reset is not None and kind.installation.detect(project):
            return []
    return reset_state(locate(project))


KIND = DotRalphKind(
    name="plain", title="a folder with a prompt", page="setups",
    signs=((".ralph",), ("PROMPT.md",), *((each.file,) for each in READERS)),
    options=frozenset((
        "driver", "agent", "prompt", "max_failures", "max_idle", "promise", "allowed_tools", "live", "resume",
        "max_context", "lift", "dry_run",
    )),
    open=_open, overview=_overview, checks=_checks, reset=_reset,
    plan=PlanKind(files=PLANS),
)  # fmt: skip
