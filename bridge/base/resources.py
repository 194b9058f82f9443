"""Where the files lie that ship with the package: drivers, agents, features.

A wheel has them in ``bridge/_shipped``; a checkout has them beside the package.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    Kind = Literal["driver", "agent"]

_PACKAGE = Path(__file__).parents[1]
NOT_DRIVERS = frozenset({"cursor-agent-wrapper"})
"""Helper scripts that lie beside drivers and are none (they would end the shell that sources them)."""


def shipped(kind: str) -> Path:
    """The folder of shipped files of one kind, such as ``drivers``."""
    packaged = _PACKAGE / "_shipped" / kind
    return packaged if packaged.is_dir() else _PACKAGE.parent / kind


def is_name(script: str | os.PathLike[str]) -> bool:
    """Whether people mean a script by its name, and not by a path (anything with a ``/`` or a ``.sh``)."""
    return (
        isinstance(script, str) and "/" not in script and not script.endswith(".sh") and script not in (".", "..")
    )


def split_kind(name: str) -> tuple[Kind | None, str]:
    """Take a name apart: ``agent:codex`` means the agent ``codex``, where a driver is called so, too.

    >>> split_kind("agent:codex"), split_kind("codex")
    (('agent', 'codex'), (None, 'codex'))
    """
    kind, colon, rest = name.partition(":")
    if colon and kind == "driver":
        return "driver", rest
    return ("agent", rest) if colon and kind == "agent" else (None, name)


def as_given(script: str, kind: Kind) -> str:
    """A name without its kind; a path so that it leads to the same file from anywhere.

    Raises:
        ConfigurationError: the name is one of the other kind.
    """
    return _of_kind(script, kind) if is_name(script) else os.path.abspath(script)


def _of_kind(name: str, kind: Kind) -> str:
    given, bare = split_kind(name)
    if given not in (None, kind):
        from bridge.errors import ConfigurationError

        raise ConfigurationError(f"{name} is {_a(str(given))}, and {_a(kind)} is wanted here")
    return bare


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def os_text(text: str) -> str:
    """An argument as the shell side has it: UTF-8 with surrogateescape, whatever the locale says."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def shown_script(path: Path) -> str:
    """A script for people: one that ships by its name, others by their paths, relative where they lie below."""
    if path.parent in (shipped("drivers"), shipped("agents")):
        return path.stem
    with suppress(OSError, ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def find_script(kind: Kind, name: str, folders: Iterable[str | os.PathLike[str]]) -> Path:
    """The script of that name: in `folders`, then among the shipped ones.

    Raises:
        UnknownDriver, UnknownAgent: there is none, or the name holds ``/`` or ``..``, refused as in bash.
    """
    from bridge import errors

    unknown = errors.UnknownDriver if kind == "driver" else errors.UnknownAgent
    name = _of_kind(name, kind)
    if not name or "/" in name or ".." in name or "\0" in name:
        raise unknown(f"{name!r} is not {_a(kind)} name: it must not be empty or contain '/' or '..'")
    searched = [*map(Path, folders), shipped(f"{kind}s")]
    for folder in searched:
        if (found := folder / f"{name}.sh").is_file() and name not in no_scripts(kind):
            return found
    known = scripts_in(kind, searched)
    raise unknown(
        f"no {kind} is called {name!r}.{likely(name, known)} Known: {', '.join(known) or 'none'}\n"
        f"  searched: {', '.join(map(str, searched))}"
    )


def scripts_in(kind: Kind, folders: Iterable[Path]) -> list[str]:
    """The names of all scripts where those of a kind lie; nothing is read."""
    return sorted({path.stem for folder in folders for path in folder.glob("*.sh")} - no_scripts(kind))


def no_scripts(kind: Kind) -> frozenset[str]:
    """The names of files that lie among those of a kind, and are none."""
    return NOT_DRIVERS if kind == "driver" else frozenset()


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that an unknown one was likely to be: the nearest of those that are `alike`, of 1; or None."""
    import difflib

    return next(iter(difflib.get_close_matches(name, known, 1, alike)), None)


def likely(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that was likely meant, if there is one."""
    close = nearest(name, known)
    return f" Did you mean {close}?" if close is not None else ""


def state_folder() -> Path:
    """Return where ralph-bridge keeps what outlives a project's folder; it need not exist.

    Raises:
        ConfigurationError: nobody knows the user's home.
    """
    given = os.environ.get("XDG_STATE_HOME", "")
    from bridge.errors import ConfigurationError  # costs a start: only who keeps something pays

    try:
        base = Path(given) if given.startswith("/") else Path("~/.local/state").expanduser()
    except RuntimeError as error:
        raise ConfigurationError("no home is known\n  next: set HOME, or XDG_STATE_HOME") from error
    return base / "ralph-bridge"
