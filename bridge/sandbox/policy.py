"""What a box lets in: data, from which each provider makes its command line. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Provider = Literal["none", "bwrap", "docker", "podman", "srt"]
PROVIDERS: tuple[Provider, ...] = ("bwrap", "docker", "podman", "srt", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is in a box. All paths are absolute, without links, and exist.

    Attributes:
        cwd: the folder that the program runs in, one of `writable` or below.
        home: the user's; an empty folder but for what the lists name.
        system: folders of programs and their settings, read-only: ``/usr``, ``/etc``.
        readable: other folders and files, read-only.
        writable: folders and files that may be written to.
        readonly: folders and files in writable ones that may only be read. None can be renamed, either.
        private: folders in writable ones that are empty in there, and gone behind it.
        masked: files of `system` that are not to be read.
        links: links at the top of the file system, such as ``/bin`` to ``usr/bin``: name and target.
        env: the environment, whole.
        network: ``on``, ``off`` (a loopback of its own), or the hosts that may be reached.
        hosts: those that the CLI talks to.
        memory_mb: MB that a process (in a container: all of them) may use; None: any.
        processes: how many there may be; None: any.
        cpus: of a container: how many it may keep busy; None: any.
        image: of a container; '': one that has nothing in it but what is mounted.
        ignored: the file of what git ignores in all of the user's repositories; need not be there.
    """

    cwd: str
    home: str
    system: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    network: Literal["on", "off"] | tuple[str, ...] = "on"
    hosts: tuple[str, ...] = ()
    memory_mb: int | None = None
    processes: int | None = None
    cpus: float | None = None
    image: str = ""
    ignored: str = ""


def git_settings(settings: Mapping[str, str], env: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Give settings of git as variables, behind those that are there; some CLIs' shells read no ``~/.gitconfig``.

    >>> git_settings({"user.name": "n"})
    {'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'user.name', 'GIT_CONFIG_VALUE_0': 'n'}
    """
    given = env.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    found = {"GIT_CONFIG_COUNT": str(first + len(settings))} if settings else {}
    for number, (key, value) in enumerate(settings.items(), first):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found
