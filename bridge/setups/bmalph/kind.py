"""bmalph's setup as one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.setups.dot_ralph import parts
from bridge.setups.model import Installation, PlanKind, Setup, SetupKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.setups.dot_ralph.controller import Controller
    from bridge.setups.model import Adopted, Opened, Overview
    from bridge.setups.options import RunOptions


def _open(
    project: Path, _setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    from bridge.setups.bmalph.opening import open_loop
    from bridge.setups.dot_ralph.folder import locate

    return open_loop(locate(project), options, tell)


def _controller() -> Controller:
    from bridge.setups.bmalph.flags import CONTROLLER

    return CONTROLLER


def _overview(project: Path, setup: Setup | None, state: Path, now: float) -> Overview:
    return parts.overview(project, state, now, "" if setup is None else setup.flavour)


def _checks(project: Path, _setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.setups.bmalph.doctor import CHECKS
    from bridge.setups.dot_ralph.doctor import DriverCase
    from bridge.setups.dot_ralph.folder import locate

    return DriverCase(locate(project), env), CHECKS


def detect(folder: Path) -> Setup | None:
    """Recognise the setup in the project `folder`; see :func:`bridge.setups.bmalph.layout.look`.

    Raises:
        ConfigurationError: RALPH_DIR can't be used.
    """
    from bridge.setups.bmalph.layout import CONTROLLER, look
    from bridge.setups.dot_ralph.folder import locate

    place = locate(folder)
    seen = look(place)
    if not seen.served:
        return None
    return Setup(KIND.name, place.project, place.path, place / CONTROLLER, seen.evidence, seen.flavour)


def missing(folder: Path) -> tuple[str, ...]:
    """Name what would show the setup and is not in `folder`; empty when `detect` finds it."""
    from bridge.setups.bmalph.layout import look
    from bridge.setups.dot_ralph.folder import locate

    place = locate(folder)
    seen = look(place)
    if seen.served:
        return ()
    if seen.flavour == "flat":
        return (f"{', '.join(seen.evidence)} lie beside the sources, as in old versions, and not in {place.shown}",)
    if seen.other:
        return (f"the project belongs to {seen.other}",)
    return (f"there is none of {', '.join((*seen.missing, f'{place.shown}/PROMPT.md'))}",)


def adopt(setup: Setup) -> Adopted:
    """Put a stand-in in the place of ``ralph_loop.sh``, with the version marker that bmalph looks for.

    Raises:
        ConfigurationError: there is no ``ralph_loop.sh``, or see :func:`bridge.setups.standin.adopt`.
        bridge.errors.ProjectUnusable: a file can't be read or written.
    """
    from bridge.setups import standin

    _there(setup)
    return standin.adopt(setup.controller, KIND.name, keep=b"# bmalph-version:")


def eject(setup: Setup) -> Adopted:
    """Put the original ``ralph_loop.sh`` back.

    Raises:
        ConfigurationError: there is no ``ralph_loop.sh``, or see :func:`bridge.setups.standin.eject`.
        bridge.errors.ProjectUnusable: a file can't be read or written.
    """
    from bridge.setups import standin

    _there(setup)
    return standin.eject(setup.controller)


def _there(setup: Setup) -> None:
    from bridge.errors import ConfigurationError

    if not setup.controller.is_file():
        raise ConfigurationError(
            f"there is no {setup.controller} to stand in for\n"
            "  next: `ralph-bridge run` needs none; `bmalph upgrade` brings it"
        )


KIND = SetupKind(
    name="bmalph",
    title="bmalph",
    page="bmalph",
    folders=(".ralph",),
    signs=((".ralph",),),
    options=frozenset(
        ("driver", "prompt", "calls", "max_failures", "promise", "allowed_tools", "live", "resume", "dry_run"),
    ),
    settings=parts.settings,
    state=parts.state,
    open=_open,
    own_files=parts.own_files,
    texts=parts.texts,
    traces=parts.traces,
    overview=_overview,
    rows=parts.rows,
    checks=_checks,
    plan=PlanKind(files=(".ralph/@fix_plan.md",), always=True),
    endless=True,
    installation=Installation(detect, missing, adopt, eject),
    controller=_controller,
    programs=("ralph_loop.sh",),
    by_default=True,
)
