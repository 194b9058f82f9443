"""frankbria's setup as one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.loop.setups.dot_ralph.kind import DotRalphKind
from bridge.loop.setups.dot_ralph.owner import frankbria
from bridge.loop.setups.setup_kind import Installation, PlanKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.loop.setups.declared_settings import SettingKey
    from bridge.loop.setups.dot_ralph.controller import Controller
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Adopted, Opened, Overview, Setup


def _open(
    project: Path, _setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    import os

    from bridge.loop.setups.frankbria.layout import folder_of
    from bridge.loop.setups.frankbria.opening import open_loop

    return open_loop(folder_of(project), options, tell, env=os.environ)


def _controller() -> Controller:
    from bridge.loop.setups.frankbria.flags import CONTROLLER

    return CONTROLLER


def _overview(project: Path, _setup: Setup | None, state: Path, now: float) -> Overview:
    from bridge.loop.setups.dot_ralph.overview import examine
    from bridge.loop.setups.frankbria.layout import folder_of

    return examine(folder_of(project), state, now)


def _checks(project: Path, _setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.loop.setups.frankbria.doctor import CHECKS, FrankbriaCase
    from bridge.loop.setups.frankbria.layout import folder_of

    return FrankbriaCase(folder_of(project), env), CHECKS


def _settings() -> Sequence[SettingKey]:
    from bridge.loop.setups.frankbria.settings import KEYS

    return KEYS


def _optional(project: Path, text: str) -> Collection[int]:
    """Lines of optional sections: their boxes are nobody's task."""
    import os

    from bridge.errors import BridgeError
    from bridge.loop.setups.frankbria import rc
    from bridge.loop.setups.frankbria.layout import folder_of, optional_lines
    from bridge.loop.setups.frankbria.settings import resolve

    try:
        settings = resolve(folder_of(project), env=os.environ, rc=rc.read(project, os.environ))
    except BridgeError:
        return ()  # the loops will say what is wrong
    aside = optional_lines(text, settings.optional_sections.split(","))
    return {number for number, each in enumerate(aside, 1) if each}


def _reset(project: Path) -> list[str]:
    from bridge.loop.setups.dot_ralph.controls import reset_state
    from bridge.loop.setups.frankbria.layout import folder_of

    return reset_state(folder_of(project)) if frankbria(project) else []


def _adopted(project: Path, named: bool) -> Setup | None:
    from bridge.loop.setups.frankbria import adoption

    return adoption.at(project) if named or adoption.is_adopted(project) else None


def _detect(folder: Path) -> Setup | None:

    if not (found := frankbria(folder)):
        return None
    from bridge.loop.setups.frankbria import adoption

    return adoption.at(folder, found)


def _missing(folder: Path) -> tuple[str, ...]:
    from bridge.loop.setups.bmalph.layout import look
    from bridge.loop.setups.frankbria.layout import flat, folder_of, missing_parts

    if frankbria(folder):
        return ()
    if old := flat(folder):
        return (f"{', '.join(old)} lie beside the sources, as in old versions: `ralph-migrate` moves them",)
    seen = look(folder_of(folder))
    if seen.flavour == "bmalph" or seen.other:
        return (f"the project belongs to {seen.other or f'bmalph ({seen.evidence[0]})'}",)
    return (f"there is no {', no '.join(missing_parts(folder))}",)


def _adopt(setup: Setup) -> Adopted:
    from bridge.loop.setups.frankbria.adoption import adopt

    return adopt(setup)


def _eject(setup: Setup) -> Adopted:
    from bridge.loop.setups.frankbria.adoption import eject

    return eject(setup)


def _refuse(project: Path) -> None:
    from bridge.loop.setups.frankbria.layout import refuse_flat

    refuse_flat(project)


KIND = DotRalphKind(
    name="frankbria", title="frankbria's ralph", page="frankbria",
    options=frozenset((
        "driver", "prompt", "calls", "max_failures", "promise", "allowed_tools", "live", "resume", "max_context",
    )),
    settings=_settings, state=lambda project, _setup: project / ".ralph", open=_open, overview=_overview,
    checks=_checks, plan=PlanKind(files=(".ralph/fix_plan.md",), always=True, aside=_optional), endless=True,
    installation=Installation(_detect, _missing, _adopt, _eject, adopted=_adopted, refuse=_refuse), reset=_reset,
    own_words=True, controller=_controller, programs=("ralph_loop.sh",),
)  # fmt: skip
