"""Running the quality gates' commands; what their runs mean is :mod:`bridge.loop.gates`'s matter."""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bridge.errors import ProgramTimeout
from bridge.loop.gates import CommandRun, custom_gate, gates_due, results_of, split_gates, test_gate
from bridge.process.program import Program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from bridge.loop.gates import GateResults
    from bridge.loop.options import GateSettings
    from bridge.stream.analysis import Analysis

__all__ = ["check", "run_command"]

_KEPT = 4096
_TIMED_OUT = 124


def check(
    settings: GateSettings,
    analysis: Analysis,
    *,
    project: Path,
    env: Mapping[str, str] | None,
    loop: int,
    now: datetime,
) -> GateResults | None:
    """Run the gates that are due after a loop, one after the other; None when none is."""
    due = gates_due(
        settings.test_command,
        settings.commands,
        completion_only=settings.on_completion_only,
        exit_signal=analysis.exit_signal,
    )
    if not due:
        return None

    def run(command: str) -> CommandRun:
        return run_command(command, project=project, env=env, timeout=settings.timeout)

    tested = run(settings.test_command) if settings.test_command.strip() else None
    test = test_gate(analysis.tests_status, tested)
    custom = [custom_gate(command, run(command)) for command in split_gates(settings.commands)]
    return results_of(loop, test, custom, settings.mode, now)


def run_command(command: str, *, project: Path, env: Mapping[str, str] | None, timeout: float) -> CommandRun:
    """Run one command by ``bash -c``; when it ends, or its time is up, so has all that it started."""
    began = time.monotonic()
    kept: list[bytes] = []
    size = 0
    status = _TIMED_OUT
    with TemporaryDirectory(prefix="ralph-bridge-gate-") as folder:
        program = Program(
            ["bash", "-c", 'exec bash -c "$1" 2>&1', "bash", command],
            cwd=project,
            env=dict(os.environ if env is None else env),
            stderr_path=Path(folder) / "stderr",
            timeout=timeout,
        )
        with program:
            try:
                for line in program.lines():
                    if size < _KEPT:
                        kept.append(line[: _KEPT - size])
                        size += len(line)
                status = program.status if program.status is not None else 1
            except ProgramTimeout:
                status = _TIMED_OUT
    exit_code = 128 - status if status < 0 else status
    return CommandRun(exit_code, b"".join(kept).decode("utf-8", "replace"), int(time.monotonic() - began))
