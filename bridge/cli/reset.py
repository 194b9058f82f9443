"""``ralph-bridge reset``: what keeps the next loop from starting is cleared."""

from __future__ import annotations

import click

from bridge.cli._options import project_folder, project_option
from bridge.cli._terminal import guarded, write
from bridge.wording import tame


@click.command()
@project_option
def reset(*, project: str) -> int:
    """Close an open circuit breaker, and clear whatever else blocks the next start.

    This works in every kind of setup: the breaker of a bmalph loop becomes CLOSED and its session is reset, as
    ralph_loop.sh --reset-circuit does it; that of a wiggum loop becomes HALF, as with `wiggum reset`.
    Exit signals that an earlier run has left are dropped. Each step is shown on a line of its own; plans, logs and
    the count of this hour's calls stay.

    Exit codes: 0 reset, or nothing to reset; 4 a loop is at work here, whose pid is named.
    """
    with guarded():
        from bridge.setups.projects import reset as clear

        folder = project_folder(project)
        done = clear(folder)
        write("".join(f"{tame(line)}\n" for line in done) or "nothing to reset\n")
        return 0
