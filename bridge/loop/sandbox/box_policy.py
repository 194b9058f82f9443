"""What a box lets in: data, from which each provider makes its command line. Pure."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

Provider = Literal["none", "bwrap", "docker", "podman", "srt"]
PROVIDERS: tuple[Provider, ...] = ("bwrap", "docker", "podman", "srt", "none")


class Mounted(NamedTuple):
    """What is to lie in a box: `source`, a folder of this machine's, at the path `target`."""

    source: str
    target: str
    writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is in a box. All paths are absolute, without links, and exist.

    Attributes:
        cwd: the folder that the program runs in, one of `writable` or below.
        home: the user's; an empty folder but for what the lists name.
        roots: below one of which each of the following lists lies, see :func:`bridge.loop.sandbox.mounts.proven`.
        system: folders of programs and their settings, read-only: ``/usr``, ``/etc``.
        readable: other folders and files, read-only.
        writable: folders and files that may be written to.
        readonly: folders and files in writable ones that may only be read. None can be renamed, either.
        stand_ins: folders and files, each with the path in there at which it is, writable, instead of the real one.
        private: folders in writable ones that are empty in there, and gone behind it.
        masked: files of `system` and `readable` that are not to be read.
        mounts: what lies elsewhere on this machine than in the box; the last word about its place.
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
    roots: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    stand_ins: tuple[tuple[str, str], ...] = ()
    private: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    mounts: tuple[Mounted, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    network: Literal["on", "off"] | tuple[str, ...] = "on"
    hosts: tuple[str, ...] = ()
    memory_mb: int | None = None
    processes: int | None = None
    cpus: float | None = None
    image: str = ""
    ignored: str = ""
