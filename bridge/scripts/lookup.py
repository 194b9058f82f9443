"""Which file a script means that people name: a path, or a name of a driver or an agent, as ``agent:codex``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base import resources
from bridge.errors import ScriptNotFound, UnknownDriver

if TYPE_CHECKING:
    from collections.abc import Iterator

    Kind = Literal["driver", "agent"]


class Folders(NamedTuple):
    """Where a project has scripts of its own, in the order of the search; those that ship come last."""

    drivers: tuple[Path, ...] = ()
    agents: tuple[Path, ...] = ()


class NamedScript(NamedTuple):
    """A script that there is.

    Attributes:
        name: as people call it.
        path: its file.
        kind: what it is looked for as; not what its functions show.
        shipped: whether it is one of ours.
    """

    name: str
    path: Path
    kind: Kind
    shipped: bool


def names_agent(script: str, folders: Folders) -> bool:
    """Whether a name means an agent; one that a driver has, too, means the driver."""
    kind, name = resources.split_kind(script)
    if kind is not None:
        return kind == "agent"
    if name in names("driver", folders):
        return False
    return name in names("agent", folders)


def find(script: str, folders: Folders) -> Path:
    """The file that a path or a name means.

    Raises:
        ScriptNotFound: there is no such file, or it is a folder.
        UnknownDriver, UnknownAgent: there is no script of that name.
    """
    if not resources.is_name(script):
        path = Path(script)
        if path.is_dir():
            raise ScriptNotFound(f"{script} is a folder\n  next: name the scripts in it, such as {script}/*.sh")
        if not path.exists():
            raise ScriptNotFound(f"{script} does not exist\n  next: give the path of a driver or agent, or a name")
        return path
    kind, name = resources.split_kind(script)
    if names_agent(script, folders):
        return resources.find_script("agent", name, folders.agents)
    drivers = names("driver", folders)
    if kind is None and name and name not in drivers:
        agents = names("agent", folders)
        searched = [*_folders("driver", folders), *_folders("agent", folders)]
        raise UnknownDriver(
            f"no driver or agent is called {name!r}.{resources.likely(name, [*drivers, *agents])}\n"
            f"  drivers: {', '.join(drivers)}\n  agents: {', '.join(agents)}\n"
            f"  searched: {', '.join(map(str, searched))}\n"
            "  next: name one of these, or give a path, such as ./my.sh"
        )
    return resources.find_script("driver", name, folders.drivers)


def named_scripts(kind: Kind, folders: Folders) -> Iterator[NamedScript]:
    """Every script of a kind that has a name, in the order of the names; of two of one name, the one that is meant.

    A file of a project counts only if it defines hooks of that kind: a folder ``agents`` may hold other things.
    """
    from bridge.scripts.contract.scripts import kind_of_file

    found: dict[str, NamedScript] = {}
    for folder in _folders(kind, folders):
        for path in sorted(folder.glob("*.sh")):
            shipped = folder == resources.shipped(f"{kind}s")
            if path.stem in found or path.stem in resources.no_scripts(kind):
                continue
            if shipped or kind_of_file(path) == kind:
                found[path.stem] = NamedScript(path.stem, path, kind, shipped)
    yield from (found[name] for name in sorted(found))


def names(kind: Kind, folders: Folders) -> list[str]:
    """The names of all scripts where those of a kind lie; nothing is read."""
    return resources.scripts_in(kind, _folders(kind, folders))


def _folders(kind: Kind, folders: Folders) -> tuple[Path, ...]:
    return (*(folders.drivers if kind == "driver" else folders.agents), resources.shipped(f"{kind}s"))
