"""bmalph setups: ``.ralph/ralph_loop.sh`` with ``drivers/*.sh``.

``layout`` recognises one, ``rc``, ``keys`` and ``settings`` are what it shall do, ``flags`` its controller's
command line, ``opening`` the checks before a loop; ``policy`` decides, ``store`` and ``recording`` keep the files,
``rules`` are gates, reviews and stories; ``doctor`` and ``overview`` tell people about it.
``dot_ralph`` has what it shares with frankbria's loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.setups.bmalph.layout import CONTROLLER, look
from bridge.setups.dot_ralph.folder import locate

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.model import Adopted, Setup

NAME = "bmalph"


def detect(folder: Path) -> Setup | None:
    """Recognise the setup in the project `folder`; see :func:`bridge.setups.bmalph.layout.look`.

    Raises:
        ConfigurationError: RALPH_DIR can't be used.
    """
    from bridge.setups.model import Setup

    place = locate(folder)
    seen = look(place)
    if not seen.served:
        return None
    return Setup(NAME, place.project, place.path, place / CONTROLLER, seen.evidence, bare=seen.flavour == "bare")


def missing(folder: Path) -> tuple[str, ...]:
    """Name what would show the setup and is not in `folder`; empty when `detect` finds it."""
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
    return standin.adopt(setup.controller, NAME, keep=b"# bmalph-version:")


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
    if not setup.controller.is_file():
        raise ConfigurationError(
            f"there is no {setup.controller} to stand in for\n"
            "  next: `ralph-bridge run` needs none; `bmalph upgrade` brings it"
        )
