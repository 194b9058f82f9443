"""``ralph-bridge status``: where this project's loop stands."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from bridge.cli import _standing
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import Style, guarded, print_json, show

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command()
@loop_option
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def status(*, setup_name: str | None, project: str | None, as_json: bool) -> int:
    """Show where this project's loop stands: at work, waiting and until when, ended and why, or killed.

    Of several loops it is the one at work, else the one that ran last. Files are read, nothing is written.

    Exit codes: 0 told, also when no loop has run yet; 2 there is no such folder.
    """
    with guarded():
        from bridge.setups.overview import overview

        now = time.time()
        seen = overview(choose_loop(project_folder(project), setup_name), now)
        if as_json:
            print_json(seen)
        else:
            show("".join(f"{line}\n" for line in status_lines(seen, now, Style(sys.stdout))))
        return 0


def status_lines(seen: dict[str, Any], now: float, style: Callable[..., str]) -> list[str]:
    """Return an overview as lines for people; `style` colours a text by the names of colours."""
    from bridge.setups import kinds

    return _standing.lines(_standing.rows(seen, now) + kinds()[seen["setup"]].rows(seen, now), style)
