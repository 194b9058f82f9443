"""The files of such a setup: where they lie, how people in the project write them, which script is the original,
and the prompt, which is read anew for each turn."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.base.encodings import readable
from bridge.base.files import ANYWHERE, read_bytes, usable
from bridge.errors import ConfigurationError
from bridge.loop.setups.setup_kind import Setup
from bridge.loop.setups.standin import kept

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.loop.setups.prompted.job import Prompt

_MOST = 16 * 1024 * 1024


def setup_at(
    name: str, project: Path, home: Path, controller: str, signs: Iterable[str], flavour: str = ""
) -> Setup:
    """Make the setup of a controller in a folder; `signs`: names in it that show it, where they are there."""
    home, top = home.resolve(), project.resolve()
    evidence = tuple(_from(top, home / each) for each in signs if (home / each).is_file())
    return Setup(name, project, home, home / controller, evidence, flavour)


def own_script(controller: Path) -> Path:
    """The controller's original, wherever it lies by now."""
    original = kept(controller)
    return original if original.is_file() else controller


def shown(setup: Setup, name: str) -> str:
    """A file in its folder, as people in the project would write it."""
    return _from(setup.project.resolve(), setup.home / name)


def plan_text(setup: Setup, name: str) -> str | None:
    """What a plan in its folder says; None: there is none.

    Raises:
        ConfigurationError: it has more than 16 MiB, which nobody has written.
        ProjectUnusable: it can't be read, is no regular file, or a link leads out of the project.
    """
    path = setup.home / name
    with usable(path), suppress(FileNotFoundError, NotADirectoryError):
        data = read_bytes(path, _MOST + 1)
        if len(data) > _MOST:
            raise ConfigurationError(f"{shown(setup, name)} has more than 16 MiB\n  next: see what is in it")
        return readable(data)
    return None


def _from(project: Path, path: Path) -> str:
    return str(path.relative_to(project)) if path.is_relative_to(project) else str(path)


def file_prompt(path: Path, name: str) -> Prompt:
    """Of a file; a ConfigurationError says at once that it is empty or isn't there."""

    def of_turn(_turn: int) -> bytes:
        return _with_words(_content(path, name), name)

    of_turn(1)
    return of_turn


def _content(path: Path, name: str) -> bytes:
    with usable(f"the prompt {name}"):
        try:
            data = read_bytes(path, root=ANYWHERE)
        except FileNotFoundError:
            raise ConfigurationError(
                f"no prompt file: looked for {path}\n  next: write it, or name one with --prompt"
            ) from None
        except IsADirectoryError:
            raise ConfigurationError(
                f"the prompt {name} is a directory\n  next: name a file with --prompt"
            ) from None
    return data


def _with_words(data: bytes, name: str) -> bytes:
    """Give a prompt back; one without words is refused: every CLI refuses it, some after minutes."""
    if not data.strip():
        raise ConfigurationError(
            f"the prompt {name} is empty; no CLI runs on that\n  next: write what is to be done"
        )
    return data
