"""What may be mounted: what lies where the policy says, and is led to by no link that a turn could have made. Pure,
but for looking."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from bridge.errors import ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bridge.loop.sandbox.box_policy import Policy

_HOPS = 40


def inside(path: str, folders: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in folders)


def resolved(
    path: str, writable: Collection[str], roots: Collection[str] = (), known: dict[str, str] | None = None
) -> tuple[str, str]:
    """Say where a path leads: by links of the user's own, and by those of a turn that stay where it writes.

    Args:
        path: an absolute one, which need not exist.
        writable: folders that turns write to, without links: in these, nobody can tell whose a link is.
        roots: further folders, likewise, into which such a link may lead.
        known: where links lead, '' for what is none, as it was seen for other paths; it grows.

    Returns:
        The path without links, and the link that leads out of its folder; '': none does.
    """
    left, real, crossed, hops = [*reversed(os.path.normpath(path).split("/")[1:])], "/", ("", ""), 0
    while left:
        name = left.pop()
        here = os.path.dirname(real) if name == ".." else f"{real.rstrip('/')}/{name}"
        if not (target := _target(here, known)):
            real = here
            continue
        if (hops := hops + 1) > _HOPS:
            return here, crossed[0] or here
        if not crossed[0] and (folder := next((each for each in writable if inside(real, [each])), None)):
            crossed = here, folder
        left += [each for each in reversed(target.split("/")) if each not in ("", ".")]
        real = "/" if target.startswith("/") else real
    return real, "" if not crossed[0] or inside(real, (crossed[1], *roots)) else crossed[0]


def _target(path: str, known: dict[str, str] | None) -> str:
    if known is not None and path in known:
        return known[path]
    try:
        target = os.readlink(path)
    except OSError:
        target = ""
    if known is not None:
        known[path] = target
    return target


def proven(policy: Policy) -> None:
    """See that each mount of a box has no link on its way, and lies below a root that its policy names.

    To be asked again when the box is made: what was looked at may have been replaced since.

    Raises:
        ProjectUnusable: one hasn't, or doesn't.
    """
    lists = (policy.system, policy.readable, policy.writable, policy.readonly, policy.private, policy.masked)
    for path in dict.fromkeys(each for paths in lists for each in paths):
        real = os.path.realpath(path)
        if real != path or not inside(path, policy.roots):
            raise refused(path, _first_link(path), real)
    roots = [*policy.roots, *map(os.path.realpath, policy.roots)]
    for path in (*(each.source for each in policy.mounts), *(source for source, _ in policy.stand_ins)):
        if not inside(real := os.path.realpath(path), roots):
            raise refused(path, _first_link(path), real)


def refused(path: str, link: str, real: str) -> ProjectUnusable:
    """The error for what isn't let in: a link on its way, or '' for a path that nothing names."""
    if not link:
        return ProjectUnusable(
            f"{path} isn't let into the box: it lies in no folder that its policy names\n"
            "  next: name it under [sandbox] in ~/.config/ralph-bridge/config.toml: read = [..] or write = [..]"
        )
    return ProjectUnusable(
        f"{path} isn't let into the box: {link} is a symbolic link to {real}, and a turn could have made it\n"
        f"  next: rm {shlex.quote(link)}, or, if it is yours, read = [{real!r}] under [sandbox] in"
        " ~/.config/ralph-bridge/config.toml"
    )


def _first_link(path: str) -> str:
    parts = path.split("/")
    ways = ("/".join(parts[: number + 1]) for number in range(1, len(parts)))
    return next((each for each in ways if os.path.islink(each)), "")
