"""A script that calls a coding CLI in a loop, as one object."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError
from bridge.loop.setups.dot_ralph.kind import DotRalphKind
from bridge.loop.setups.plain.ending import PLANS
from bridge.loop.setups.prompted.kind import SCRIPTED
from bridge.loop.setups.script.layout import PATTERNS, is_place, usual
from bridge.loop.setups.setup_kind import Installation, PlanKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Opened, Overview, Setup


def _open(
    project: Path, setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> AbstractContextManager[Opened]:
    from bridge.loop.setups.script.opening import open_loop

    return open_loop(project, setup, options, tell)


def _detect(project: Path) -> Setup | None:
    if next(usual(project), None) is None:
        return None
    from bridge.loop.setups.script.which import detect

    return detect(project)


def _missing(project: Path) -> tuple[str, ...]:
    if _detect(project) is not None:
        return ()
    names = "ralph*.sh, loop*.sh, afk*.sh, scripts/ralph*.sh"
    return (f"there is no script ({names}, ...) that calls a coding CLI for an answer; --script names any",)


def _is_project(folder: Path) -> bool:
    """Whether such a script makes a folder a project: not one in which a project above has its scripts."""
    return not is_place(folder) and _detect(folder) is not None


def _late(name: str) -> Callable[..., Any]:
    """A function of the module that reads scripts, which is imported when it is called."""
    return lambda *given: getattr(import_module("bridge.loop.setups.script.which"), name)(*given)


def _checks(project: Path, setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
    from bridge.loop.setups.script.doctor import CHECKS, ScriptCase

    found = setup or _detect(project)
    if found is None:
        raise ConfigurationError(f"{project} holds no script setup\n  next: {'; '.join(_missing(project))}")
    return ScriptCase(found, env), CHECKS


def _overview(project: Path, setup: Setup | None, state: Path, now: float) -> Overview:
    from bridge.loop.engine.logs import APART
    from bridge.loop.setups.dot_ralph.folder import locate
    from bridge.loop.setups.dot_ralph.overview import examine

    return examine(locate(project), state, now, "" if setup is None else setup.flavour, APART.status)


def _texts(state: Path) -> tuple[Path, ...]:
    from bridge.loop.engine.logs import APART

    return (state / APART.live,)


def _traces(_project: Path, state: Path) -> tuple[Path, ...]:
    from bridge.loop.engine.logs import APART

    return (state / APART.status,)


KIND = DotRalphKind(
    name="script", title="a script that calls a coding CLI", page="any-script", signs=(),
    options=SCRIPTED - {"prompt", "live"},
    open=_open, checks=_checks, overview=_overview, texts=_texts, traces=_traces,
    plan=PlanKind(files=PLANS),
    endless=True,
    installation=Installation(_detect, _missing, _late("adopt"), _late("eject"), last=True),
    scripts=PATTERNS, is_project=_is_project, called=_late("called"),
)  # fmt: skip
