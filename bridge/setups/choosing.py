"""Which kind of setup a project is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.setups import SETUPS, detect, module

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bridge.setups.model import Setup

__all__ = ["choose", "is_bare"]


def choose(folder: Path, name: str | None, words: Sequence[str] = ()) -> Setup | None:
    """The setup of `folder`; None when there is none and nothing asked for one.

    Args:
        folder: the project's.
        name: as ``--setup`` gives it; with one, there has to be such a setup.
        words: of a controller's command line; with any, there has to be some setup. One that is nearly whole will
            do then: its own checks say best what it lacks.

    Raises:
        ConfigurationError: no such kind of setup; it is not there (says what is missing); or there are several.
    """
    if name is not None and name not in SETUPS:
        raise ConfigurationError(f"--setup {name}: there is no such setup; known: {', '.join(SETUPS)}")
    found = detect(folder) if name is None else [s for s in [module(name).detect(folder)] if s is not None]
    if len(found) > 1:
        raise ConfigurationError(_several(folder, found))
    if found:
        return found[0]
    if words and (name or "ralph-loop") == "ralph-loop":
        from bridge.setups.ralph_loop.detect import at, home_of

        if (controller := home_of(folder)) is not None:
            return at(folder, controller)
    if name is None and not words:
        return None
    asked = f"--setup {name}" if name else " ".join(words)
    lacks = "\n  ".join(
        f"{each}: {'; '.join(module(each).missing(folder))}" for each in ([name] if name else SETUPS)
    )
    raise ConfigurationError(f"{asked}: {folder} holds no such setup\n  {lacks}")


def is_bare(setup: Setup) -> bool:
    """Whether there is a prompt in ``.ralph`` and nothing else of a setup: the plain loop is for that."""
    from bridge.setups.bmalph.folder import locate
    from bridge.setups.bmalph.layout import look

    return look(locate(setup.project)).flavour == "bare"


def _several(folder: Path, found: Iterable[Setup]) -> str:
    seen = "".join(f"\n  {setup.name}: {', '.join(setup.evidence)}" for setup in found)
    return f"{folder} holds several setups{seen}\n  next: say which one with --setup"
