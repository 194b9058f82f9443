"""A policy as a command line of bubblewrap, 0.4 or newer. Pure.

The order is the policy: what is mounted later lies on top. It starts from nothing, so that what nobody has thought
of isn't there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.loop.sandbox.box_policy import Policy

_LIMITS = """\
if [ "$1" != - ]; then ulimit -d "$1" || exit 126; fi
if [ "$2" != - ]; then ulimit -u "$2" || exit 126; fi
shift 2; exec "$@"
"""


def command(policy: Policy, argv: Sequence[str], env: str = "env", bwrap: str = "bwrap") -> list[str]:
    """Give the command that runs `argv` in such a box. Its own environment has to be `policy.env`, too.

    A box can read the environment of its first process.

    INT and TERM of a kill ladder are for the program: bubblewrap, which would die of them and leave it behind, and
    the first process in the box pass over them.
    """
    ours = (env, "--ignore-signal=INT,TERM", bwrap, *_options(policy), "--")
    return [*ours, env, "--default-signal=INT,TERM", *limited(policy, argv)]


def limited(policy: Policy, argv: Sequence[str]) -> list[str]:
    """A command that bounds what it and its children use."""
    if policy.memory_mb is None and policy.processes is None:
        return [*argv]
    memory = "-" if policy.memory_mb is None else str(policy.memory_mb * 1024)
    processes = "-" if policy.processes is None else str(policy.processes)
    return ["bash", "-c", _LIMITS, "bash", memory, processes, *argv]


def _options(policy: Policy) -> Iterator[str]:
    # Not --die-with-parent, which means the thread that has forked, and ours may end before the turn. Not
    # --new-session: every program of ours is started in one, without a terminal that it could type into.
    yield from ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--hostname", "box", "--cap-drop", "ALL")
    if policy.network != "on":
        yield "--unshare-net"
    yield from ("--perms", "1777", "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/var", "--dir", "/var/tmp")  # noqa: S108
    for path in policy.system:
        yield from ("--ro-bind", path, path)
    yield from ("--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
    yield from ("--perms", "0700", "--tmpfs", policy.home)
    for path in policy.masked:
        if not _inside_any(path, policy.system):
            continue
        yield from ("--ro-bind", "/dev/null", path)
    shown = [each for each in policy.readable if each in policy.masked or not _there(each, policy)]
    mounts: dict[str, tuple[str, ...]] = {path: ("--ro-bind", path) for path in shown}
    mounts |= {path: ("--ro-bind", "/dev/null") for path in policy.masked if not _inside_any(path, policy.system)}
    mounts |= {path: ("--bind", path) for path in policy.writable}
    mounts |= {path: ("--bind", source) for source, path in policy.stand_ins}
    mounts |= {path: ("--ro-bind", path) for path in policy.readonly}
    mounts |= dict.fromkeys(policy.private, ("--tmpfs",))
    # Shallow ones first, so that none hides one that lies in it; of the same path the last counts.
    targets = {each.target: ("--bind" if each.writable else "--ro-bind", each.source) for each in policy.mounts}
    mounts |= targets
    for path, option in sorted(mounts.items(), key=lambda each: each[0].count("/")):
        yield from (*option, path)
    for name, target in policy.links:  # behind the folders that they lie in, which bring their own
        if not any(_inside(name, path) for path in (*policy.system, *mounts)):
            yield from ("--symlink", target, name)
    yield from ("--chdir", policy.cwd)


def _there(path: str, policy: Policy) -> bool:
    """Whether a folder around it brings it, to be read: each mount costs bubblewrap 0.1 ms and more."""
    shown = {*policy.system, *policy.readable} - {*policy.writable}
    around = (*shown, *policy.writable, *(each for _, each in policy.stand_ins), *policy.masked)
    around = (*around, *policy.private, policy.home)
    return max((each for each in around if each != path and _inside(path, each)), key=len, default="") in shown


def _inside_any(path: str, folders: Iterable[str]) -> bool:
    return any(_inside(path, each) for each in folders)


def _inside(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")
