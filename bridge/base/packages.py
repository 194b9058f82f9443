"""What installed packages bring by entry points, such as a kind of setup; rooms of ours that may be missing."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import ModuleType


def install_command(extra: str) -> str:
    """Give the command that adds what one of our extras needs to the environment that this runs in.

    It names the libraries themselves: whatever this was installed from, a checkout or a wheel, it works.
    """
    import re
    import shlex
    import sys
    from importlib.metadata import PackageNotFoundError, requires
    from importlib.util import find_spec

    try:
        wanted = [each.partition(";") for each in requires("ralph-bridge") or ()]
    except PackageNotFoundError:
        wanted = []
    marked = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    libraries = [requirement.strip() for requirement, _, marker in wanted if marked.search(marker)]
    python = shlex.quote(sys.executable)
    pip = f"{python} -m pip install" if find_spec("pip") is not None else f"uv pip install --python {python}"
    return " ".join([pip, *(shlex.quote(each) for each in libraries or [extra])])


def room(module: str) -> ModuleType | None:
    """Load a module of ours that the caller does without where there is none: its room was left out."""
    from importlib import import_module
    from importlib.util import find_spec

    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # nor is the package that it would be in
        found = None
    return None if found is None else import_module(module)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)


def brought(group: str, type_: type[T], ours: Collection[str], what: str) -> dict[str, T]:
    """Load the objects of a group of entry points, by name.

    Args:
        group: of entry points; each has the name of its object.
        type_: what each object is.
        ours: names that are taken.
        what: they are, for messages.

    Raises:
        ConfigurationError: one can't be loaded, is something else, or takes a name that there is already.
    """
    if not _mentioned(group):
        return {}
    from importlib.metadata import entry_points

    found: dict[str, T] = {}
    for entry in entry_points(group=group):
        where = f"the {what} {entry.name} ({entry.value})"
        try:
            kind = entry.load()
        except Exception as error:  # noqa: BLE001 (the code of others)
            raise ConfigurationError(f"{where} can't be loaded: {error}\n  next: mend its package") from None
        if not isinstance(kind, type_) or kind.name != entry.name:
            raise ConfigurationError(f"{where} is no {type_.__name__} of that name\n  next: mend its package")
        if kind.name in ours or kind.name in found:
            raise ConfigurationError(f"{where} takes a name that there is already\n  next: remove its package")
        found[kind.name] = kind
    return found


def _mentioned(group: str) -> bool:
    """Whether any installed package may bring something of that group: loading what knows for sure takes 30 ms."""
    for folder in map(Path, sys.path):
        with suppress(OSError):  # what can't be read brings nothing
            if folder.is_file():
                return True  # an archive, which only the real thing reads
            for file in folder.glob("*.*-info/entry_points.txt"):
                if group.encode() in file.read_bytes():
                    return True
    return False
