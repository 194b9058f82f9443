"""A policy as a command line of docker or podman. Pure, but for what they have to be asked.

Without an image of the user's, the container's own system is empty, and this machine's folders are mounted: what is
seen in there is what bubblewrap shows. A container belongs to a turn and is gone with it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from typing import TYPE_CHECKING, Literal

from bridge.base.process.leftovers import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.loop.sandbox.box_policy import Policy

Client = Literal["docker", "podman"]

EMPTY = "localhost/ralph-bridge-empty:1"
"""An image with nothing in it, made once on a machine."""

EMPTY_TAR = bytes(10240)
"""What it is imported from: the end of an archive, and no more."""

_CLIENTS = (
    "PATH",
    "HOME",
    "TMPDIR",
    "XDG_*",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_*",
    "CONTAINER_*",
    "CONTAINERS_*",
)
"""Variables that the client itself goes by, as patterns. None gets into the box by that."""
_OWN_OF_RUNTIMES = ("/sys", "/proc", "/dev")


def command(policy: Policy, argv: Sequence[str], *, client: Client, name: str, user: str) -> list[str]:
    """Give the command that runs `argv` in a container.

    Its own environment has to hold `policy.env`: values stay out of its command line, which everybody can read.

    Args:
        user: as ``UID:GID``; '': podman maps the user's own.
    """
    return [client, "run", *_options(policy, client, name, user), policy.image or EMPTY, *argv]


def removal(client: Client, name: str) -> tuple[str, ...]:
    """The command that ends what is left of a container when its client was killed."""
    return (client, "rm", "--force", *(("--time", "0", "--ignore") if client == "podman" else ()), name)


def name_of(project: str, token: str = "") -> str:
    """Give the name of a container of a turn in this folder; without a token, how all of them begin."""
    return f"ralph-bridge-{hashlib.sha256(os.fsencode(project)).hexdigest()[:12]}-{token}"


def listing(client: Client, project: str) -> tuple[str, ...]:
    """The command that lists the containers of a project's turns, running or not, by name."""
    return (client, "ps", "--all", "--filter", f"name={name_of(project)}", "--format", "{{.Names}}")


def client_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What the client needs of this process's environment."""
    from fnmatch import fnmatchcase

    return {name: value for name, value in env.items() if any(fnmatchcase(name, each) for each in _CLIENTS)}


def _options(policy: Policy, client: Client, name: str, user: str) -> Iterator[str]:
    # Never --tty. Output isn't logged a second time. `label` is SELinux's, which would deny what is mounted.
    yield from ("--rm", "--interactive", "--init", "--name", name, "--hostname", "box", "--pull", "never")
    yield from ("--log-driver", "none", "--entrypoint", "", "--cap-drop", "ALL")
    yield from ("--security-opt", "no-new-privileges", "--security-opt", "label=disable")
    yield from ("--user", user) if user else ("--userns", "keep-id")
    if not policy.image:
        yield from ("--read-only", *(("--passwd=false",) if client == "podman" else ()))
    yield from _bounds(policy)
    yield from _file_system(policy, client)
    for variable, value in policy.env.items():
        if variable == "PATH" and policy.image:
            continue
        # The client's PATH is another, and with the mark it would be taken for something left behind.
        yield from ("--env", f"{variable}={value}" if variable in (MARK, "PATH") else variable)
    yield from ("--workdir", policy.cwd)


def _bounds(policy: Policy) -> Iterator[str]:
    if policy.network != "on":
        yield from ("--network", "none")
    if policy.memory_mb is not None:
        yield from ("--memory", f"{policy.memory_mb}m")
    if policy.processes is not None:
        yield from ("--pids-limit", str(policy.processes))
    if policy.cpus is not None:
        yield from ("--cpus", f"{policy.cpus:g}")


def _file_system(policy: Policy, client: Client) -> Iterator[str]:
    mounts = _mounts(policy, client)
    for path in dict.fromkeys((*_empty(policy), *_between(policy.home, mounts))):
        if path not in mounts:
            yield from ("--tmpfs", f"{path}:exec,mode=1777")
    for path in policy.private:  # podman would begin with a copy of what lies there
        yield from ("--tmpfs", f"{path}:exec,mode=1777{',notmpcopyup' * (client == 'podman')}")
    for path, (source, writable) in mounts.items():
        yield from ("--mount", _mount(source, path, writable=writable))


def _empty(policy: Policy) -> tuple[str, ...]:
    system = () if policy.image else ("/run", "/var")
    return ("/tmp", "/var/tmp", *system, policy.home)  # noqa: S108


def _mounts(policy: Policy, client: Client) -> dict[str, tuple[str, bool]]:
    """Where something is mounted: what, and whether it may be written to. What comes later counts."""
    found: dict[str, tuple[str, bool]] = {}
    if not policy.image:
        found |= {path: (path, False) for path in policy.system if not _brought(path, client)}
    found |= {path: (path, False) for path in policy.readable}
    if not policy.image:
        found |= dict.fromkeys(policy.masked, ("/dev/null", False))
    found |= {path: (path, True) for path in policy.writable}
    found |= {path: (source, True) for source, path in policy.stand_ins}
    found |= {path: (path, False) for path in policy.readonly}
    found |= {each.target: (each.source, each.writable) for each in policy.mounts}
    # Neither can make links: what they lead to is mounted a second time, with all that is mounted in it.
    for name, target in policy.links:
        if not _brought(name, client):
            real = os.path.normpath(os.path.join(os.path.dirname(name), target))
            around = max((path for path in found if _inside(real, path)), key=len, default=None)
            if around is not None:
                again = {real: (real, found[around][1])} | found
                found |= {name + path[len(real) :]: again[path] for path in again if _inside(path, real)}
    return found


def _brought(path: str, client: Client) -> bool:
    """Whether the container has a folder of its own there. Docker puts its ``init`` into ``/sbin``."""
    if path.startswith("/run/") and not path.startswith("/run/current-system/"):
        return True  # a resolver's file: a container has its own
    return path in _OWN_OF_RUNTIMES or (client == "docker" and path == "/sbin")


def _between(home: str, mounts: Mapping[str, object]) -> Iterator[str]:
    """Folders of the home around what is mounted there, which would be root's."""
    for path in mounts:
        folder = os.path.dirname(path)
        while folder.startswith(f"{home}/") and not any(_inside(folder, each) for each in mounts):
            yield folder
            folder = os.path.dirname(folder)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _mount(source: str, target: str, *, writable: bool) -> str:
    """The option's value, which is CSV: a path may have commas in it."""
    line = io.StringIO()
    words = ["type=bind", f"source={source}", f"target={target}", *([] if writable else ["readonly"])]
    csv.writer(line, lineterminator="").writerow(words)
    return line.getvalue()
