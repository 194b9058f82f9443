"""A wiggum loop's checkpoints for people. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.wording import tame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.setups.wiggum.checkpoints import Checkpoint


def checkpoint_lines(found: Iterable[Checkpoint], *, runs: bool) -> list[str]:
    """List checkpoints: number, commit, time, kind, subject."""
    return [
        (f"{each.run}  " if runs else "")
        + f"{each.iteration:>4}  {each.commit[:12]}  {each.time}  {each.kind:<8}  {tame(each.subject)}"
        for each in found
    ] or ["there are no checkpoints"]
