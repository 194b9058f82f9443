"""What a program's output says beside the agent's own words."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.stream.analysis import Analysis

__all__ = ["analyse"]


def analyse(output: Path, status: int) -> Analysis | None:
    """Read all that a program printed; None where it can't be read any more.

    Args:
        output: the file.
        status: the program's exit status.
    """
    from bridge.stream.analysis import Analyzer, RunFacts

    analyzer = Analyzer()
    try:
        with open(output, "rb") as file:
            for line in file:
                analyzer.feed(line)
    except OSError:
        return None
    facts = RunFacts(now=datetime.now().astimezone(), loop_number=0, output_file=str(output), exit_status=status)
    return analyzer.finish(facts)
