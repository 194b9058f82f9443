"""bmalph's setup as one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.loop.setups.bmalph.layout import CONTROLLER, look
from bridge.loop.setups.dot_ralph.folder import locate
from bridge.loop.setups.dot_ralph.kind import DotRalphKind
from bridge.loop.setups.setup_kind import Installation, PlanKind, Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.loop.setups.dot_ralph.controller import Controller
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Adopted, Opened


def _open(
    project: Path, _setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    from bridge.loop.setups.bmalph.opening import open_loop

    return open_loop(locate(project), options, tell)


def _controller() -> Controller:
    from bridge.loop.setups.bmalph.flags import CONTROLLER

    return CONTROLLER


def _checks(project: Path, _setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.loop.setups.bmalph.doctor import CHECKS
    from bridge.loop.setups.dot_ralph.doctor import DriverCase

    return DriverCase(locate(project), env), CHECKS


def _detect(project: Path) -> Setup | None:

    folder = locate(project)
    seen = look(folder)
    if not seen.served:
        return None
    return Setup(KIND.name, folder.project, folder.path, folder / CONTROLLER, seen.evidence, seen.flavour)


def _missing(project: Path) -> tuple[str, ...]:

    folder = locate(project)
    seen = look(folder)
    if seen.served:
        return ()
    if seen.flavour == "flat":
        return (
            f"{', '.join(seen.evidence)} lie beside the sources, as in old versions, and not in {folder.shown}",
        )
    if seen.other:
        return (f"the project belongs to {seen.other}",)
    return (f"there is none of {', '.join((*seen.missing, f'{folder.shown}/PROMPT.md'))}",)


def _adopt(setup: Setup) -> Adopted:
    """The stand-in keeps the version marker that bmalph looks for."""
    from bridge.loop.setups import standin

    return standin.adopt(_controller_of(setup), KIND.name, keep=b"# bmalph-version:")


def _eject(setup: Setup) -> Adopted:
    from bridge.loop.setups import standin

    return standin.eject(_controller_of(setup))


def _controller_of(setup: Setup) -> Path:
    from bridge.errors import ConfigurationError

    if not setup.controller.is_file():
        raise ConfigurationError(
            f"there is no {setup.controller} to stand in for\n"
            "  next: `ralph-bridge run` needs none; `bmalph upgrade` brings it"
        )
    return setup.controller


KIND = DotRalphKind(
    name="bmalph", title="bmalph", page="bmalph",
    options=frozenset((
        "driver", "prompt", "calls", "max_failures", "promise", "allowed_tools", "live", "resume", "max_context",
        "dry_run",
    )),
    open=_open, checks=_checks, plan=PlanKind(files=(".ralph/@fix_plan.md",), always=True), endless=True,
    installation=Installation(_detect, _missing, _adopt, _eject), controller=_controller,
    programs=("ralph_loop.sh",), by_default=True,
)  # fmt: skip
