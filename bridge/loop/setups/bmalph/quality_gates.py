"""Quality gates: which are due, what their runs come to, what follows."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from bridge.base.files import read_bytes
from bridge.base.process.ask import NOT_STARTED, TOO_LONG
from bridge.base.records import dataclass
from bridge.loop.engine.gates import check as run_check
from bridge.scripts.stream.analysis import iso

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from datetime import datetime
    from pathlib import Path

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.dot_ralph.settings import Settings
    from bridge.loop.turn.check import Checked
    from bridge.scripts.stream.analysis import Analysis

GateStatus = Literal["pass", "fail", "skip"]
GateOutcome = Literal["pass", "block", "circuit-breaker"]
_OUTPUT = 500
_KEPT = 4096  # bytes of what a command prints
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True, slots=True)
class CommandRun:
    """Of a gate; `exit_code` 124 means that its time was up, `seconds` are whole ones."""

    exit_code: int
    output: str = ""
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class TestGate:
    """`verified`: the tests were run; else the agent's claim was believed."""

    __test__ = False  # for pytest: it isn't one of its own

    status: GateStatus = "skip"
    tests_status_reported: str = "UNKNOWN"
    verified: bool = False
    output: str = ""


@dataclass(frozen=True, slots=True)
class CustomGate:
    command: str
    status: GateStatus
    exit_code: int
    output: str
    duration_seconds: int
    timed_out: bool


@dataclass(frozen=True, slots=True)
class GateResults:
    timestamp: str
    loop_number: int
    test: TestGate
    custom: tuple[CustomGate, ...]
    overall_status: Literal["pass", "fail"]
    mode: str


def split_gates(commands: str) -> tuple[str, ...]:
    """Split QUALITY_GATES at every semicolon (in quotes too); blank pieces don't count."""
    return tuple(piece.strip() for piece in commands.split(";") if piece.strip())


def gates_due(test_command: str, gates: str, *, completion_only: bool, exit_signal: bool) -> bool:
    if not test_command.strip() and not split_gates(gates):
        return False
    return exit_signal or not completion_only


def test_gate(tests_status: str | None, run: CommandRun | None) -> TestGate:
    """Without an analysis nothing is judged; without a run of TEST_COMMAND the claim is believed."""
    if tests_status is None:
        return TestGate()
    if run is not None:
        status: GateStatus = "pass" if run.exit_code == 0 else "fail"
        return TestGate(status, tests_status, verified=True, output=run.output[:_OUTPUT])
    if tests_status == "UNKNOWN":
        return TestGate("skip", tests_status)
    return TestGate("fail" if tests_status == "FAILING" else "pass", tests_status)


test_gate.__test__ = False  # type: ignore[attr-defined]


def custom_gate(command: str, run: CommandRun) -> CustomGate:
    return CustomGate(
        command=command,
        status="pass" if run.exit_code == 0 else "fail",
        exit_code=run.exit_code,
        output=run.output[:_OUTPUT],
        duration_seconds=run.seconds,
        timed_out=run.exit_code == TOO_LONG,
    )


def results_of(loop: int, test: TestGate, custom: Sequence[CustomGate], mode: str, now: datetime) -> GateResults:
    """Put the verdicts together: one failure fails all."""
    failed = "fail" in (test.status, *(gate.status for gate in custom))
    return GateResults(iso(now), loop, test, tuple(custom), "fail" if failed else "pass", mode)


def outcome_of(results: GateResults | None) -> tuple[GateOutcome, int]:
    """Say what follows, as a word and as the number in metrics.jsonl.

    Returns:
        ``pass`` and 0: nothing, also without results and in mode warn. ``block`` and 1: the loop's claim
        to be complete doesn't count. ``circuit-breaker`` and 2: the breaker is told of a loop without
        changed files, with errors.
    """
    if results is None or results.overall_status == "pass":
        return "pass", 0
    match results.mode:
        case "block":
            return "block", 1
        case "circuit-breaker":
            return "circuit-breaker", 2
    return "pass", 0


def results_document(results: GateResults) -> dict[str, Any]:
    """What ``.quality_gate_results`` holds: documented keys in documented order."""
    return {
        "timestamp": results.timestamp,
        "loop_number": results.loop_number,
        "test_gate": asdict(results.test),
        "custom_gates": [asdict(gate) for gate in results.custom],
        "overall_status": results.overall_status,
        "mode": results.mode,
    }


def failing_sentences(gates: GateResults | None) -> tuple[str, ...]:
    """Write what the next turn is told about gates that fail."""
    if gates is None or gates.overall_status != "fail" or gates.mode == "warn":
        return ()
    parts = []
    if gates.test.status == "fail":
        output = " ".join(_ANSI.sub("", gates.test.output).split())[:150].rstrip()
        parts.append(f"TESTS FAILING: {output}." if output else "TESTS FAILING.")
    failed = [" ".join(gate.command.split()[:2]) for gate in gates.custom if gate.status == "fail"]
    if failed:
        parts.append(f"QG fail: {', '.join(failed)}.")
    return tuple(parts)


def check(
    settings: Settings, analysis: Analysis, loop: LoopSettings, logs: Path, *, number: int, now: datetime
) -> Generator[LoopEvent, None, GateResults | None]:
    """Run the gates that are due after iteration `number`, one after the other; None when none is.

    Args:
        logs: the folder of the loop's logs, where each gate gets one.
    """
    due = gates_due(
        settings.test_command,
        settings.quality_gates,
        completion_only=settings.quality_gate_on_completion_only,
        exit_signal=analysis.exit_signal,
    )
    if not due:
        return None

    def run(command: str) -> Generator[LoopEvent, None, CommandRun]:
        seconds = settings.quality_gate_timeout
        running = run_check(command, number, loop, logs, seconds=seconds, interpreter="bash", of_setup=True)
        ended = yield from running
        return command_run(ended.checked, read_bytes(ended.log, _KEPT))

    tested = (yield from run(settings.test_command)) if settings.test_command.strip() else None
    test = test_gate(analysis.tests_status, tested)
    custom = []
    for command in split_gates(settings.quality_gates):
        custom += [custom_gate(command, (yield from run(command)))]
    return results_of(number, test, custom, settings.quality_gate_mode, now)


def command_run(checked: Checked, printed: bytes) -> CommandRun:
    """Give what a shell would say of a check; one that can't be run has failed."""
    status = checked.status
    if status is None:
        status = TOO_LONG if checked.late else NOT_STARTED
    output = printed.decode("utf-8", "replace")
    return CommandRun(128 - status if status < 0 else status, output, int(checked.seconds))
