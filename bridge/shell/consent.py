"""Which scripts are sourced out here: in commands that only look (``doctor``, ``--dry-run``) those of ours alone,
unless their user says more; beside turns in a box likewise, where that was asked for."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from bridge.base import resources
from bridge.errors import ProjectCodeNotRun

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTION = "--run-project-code"
VARIABLE = "RALPH_BRIDGE_RUN_PROJECT_CODE"
"""The option's word for all commands of a shell: ``1``; ``0``: beside a box, too, only scripts of ours run."""

_looking: list[bool] = []
_allowed: list[bool] = []


@contextmanager
def only_ours(*, when: bool = True) -> Iterator[None]:
    """Have no script that isn't one of ours be sourced in this process while the block runs.

    `when`: whether that is wanted. The environment may say otherwise (:data:`VARIABLE`).
    """
    if not when or _may_run():
        yield
        return
    path = os.environ.get("PATH")
    if path is not None:  # nor programs of folders that count from where one stands
        os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, path.split(os.pathsep)))
    _looking.append(True)
    try:
        yield
    finally:
        _looking.pop()
        if path is not None:
            os.environ["PATH"] = path


@contextmanager
def allowing(given: bool) -> Iterator[None]:
    """Have a project's scripts be sourced in this process while the block runs, where its user says so."""
    _allowed.append(given)
    try:
        yield
    finally:
        _allowed.pop()


def _may_run() -> bool:
    return any(_allowed) or os.environ.get(VARIABLE, "") in ("1", "true")


def looking() -> bool:
    """Whether no code of a project's is to be run now."""
    return bool(_looking)


def sourced(path: str, *, boxed: bool = False) -> str:
    """Give the script to source for this one: where nothing of a project's is run, ours with the same bytes.

    Args:
        boxed: it is for turns in a box, and would run outside of it.

    Raises:
        ProjectCodeNotRun: there is none.
    """
    apart = boxed and not _may_run() and os.environ.get(VARIABLE, "") in ("0", "false")
    if not looking() and not apart:
        return path
    twin = _twin(path)
    if twin is None and not looking():
        raise ProjectCodeNotRun(
            f"{path} was not run: it is none of the scripts that come with ralph-bridge, and turns run in a box, of"
            f" which its functions would be outside, with all your rights ({VARIABLE}=0)\n  next: read it, then run"
            f" again with {OPTION}"
        )
    if twin is None:
        raise ProjectCodeNotRun(
            f"{path} was not run: it is none of the scripts that come with ralph-bridge, and neither `doctor` nor"
            f" --dry-run runs a project's own code\n  next: read it, then ask again with {OPTION}"
        )
    return twin


def is_ours(path: str) -> bool:
    """Whether a script is one of ours, or a copy of one."""
    return _twin(path) is not None


def _twin(path: str) -> str | None:
    with open(path, "rb") as file:
        return _ours().get(file.read())


@cache
def _ours() -> dict[bytes, str]:
    folders = map(resources.shipped, ("drivers", "agents"))
    return {each.read_bytes(): str(each) for folder in folders for each in sorted(folder.glob("*.sh"))}
