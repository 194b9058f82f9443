"""The files of section 3: format, vocabulary, and what readers of the original accept."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bridge.base import json_files, timestamps
from bridge.errors import ProjectUnusable
from bridge.loop.engine.events import ReviewEnded
from bridge.loop.engine.logs import LiveLog, log_line
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.setups.bmalph.policy import BmalphOutcome
from bridge.loop.setups.bmalph.quality_gates import CommandRun, GateResults, TestGate, custom_gate, results_document
from bridge.loop.setups.dot_ralph import breaker_files, files
from bridge.loop.setups.dot_ralph.controls import reset_circuit
from bridge.loop.setups.dot_ralph.exits import ExitSignals
from bridge.loop.setups.dot_ralph.state_files import SPINNER, STATUS_WORDS, SignalsCleared, Status, by_hand
from bridge.scripts.stream.analysis.model import Analysis
from tests.setups.bmalph import readers, writing
from tests.setups.bmalph.conftest import NOW

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project

ANALYSIS = Analysis(loop_number=2, files_modified=2, work_summary='said "done"\nand more', output_format="json")


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_status_as_the_original_writes_it(project: Project) -> None:
    for name, text in ((".call_count", "7\n"), (".last_reset", "2026010203\n")):
        project.write(f".ralph/{name}", text)
    failed = Status(loop=3, action="failed", word="error", code=1)
    event = writing.ended(3, BmalphOutcome(status=1))
    writing.record(project.folder, event, status=lambda _facts: failed)
    assert project.read(".ralph/status.json") == (
        '{\n  "timestamp": "2026-01-02T03:04:05+00:00",\n  "loop_count": 3,\n  "calls_made_this_hour": 7,\n'
        '  "max_calls_per_hour": 100,\n  "last_action": "failed",\n  "status": "error",\n  "exit_reason": "",\n'
        '  "next_reset": "04:00:00",\n  "driver_exit_code": 1\n}\n'
    )
    gates = GateResults("", 3, TestGate("fail"), (), "fail", "block")
    json_files.write_json(project.path / ".ralph/.quality_gate_results", results_document(gates))
    limit = Status(loop=3, action="api_limit", word="paused", reset=NOW + 600)
    writing.record(project.folder, writing.ended(3), status=lambda _facts: limit)
    record = readers.status(project.folder.path)
    assert record["quality_gates"] == {"overall_status": "fail", "mode": "block"}
    assert record["next_reset"] == "03:14:05"


@pytest.mark.parametrize("reason", ["", "api_limit", "write_timeout", "permission_denied", "retry"])
@pytest.mark.parametrize("status", [0, 1])
def test_t22_a_status_that_readers_call_corrupt_is_never_written(
    project: Project, reason: str, status: int
) -> None:
    event = writing.ended(1, BmalphOutcome(status=status), Decision(Verdict.CONTINUE, reason))
    writing.record(project.folder, event)
    assert readers.status(project.folder.path)["status"] in STATUS_WORDS


@given(st.text())
@hypothesis_settings(max_examples=50)
def test_t10_progress_is_json_whatever_the_cli_prints(project: Project, line: str) -> None:
    writing.record(project.folder, writing.progress(line, count=5, elapsed=12.7))
    record = readers.progress(project.folder.path)
    assert (record["status"], record["elapsed_seconds"], record["indicator"]) == ("executing", 12, SPINNER[1])
    assert len(record["last_output"].encode()) <= 80


def test_progress_at_the_end(project: Project) -> None:
    writing.record(project.folder, writing.ended(1, BmalphOutcome(status=1)))
    assert project.read(".ralph/progress.json") == '{"status":"failed","timestamp":"2026-01-02 03:04:05"}\n'


def test_calls_of_one_clock_hour(project: Project) -> None:
    folder = project.folder
    assert files.calls_made(folder, NOW) == 0
    writing.record(folder, writing.prepared())
    assert (project.read(".ralph/.call_count"), project.read(".ralph/.last_reset")) == ("0\n", "2026010203\n")
    project.write(".ralph/.call_count", "2\n")
    writing.record(folder, writing.prepared(), NOW + 1)
    assert [files.calls_made(folder, now) for now in (NOW + 1, NOW + 3600)] == [2, 0]
    writing.record(folder, writing.prepared(), NOW + 3600)
    assert project.read(".ralph/.call_count") == "0\n"
    project.write(".ralph/.call_count", "many")
    assert files.calls_made(folder, NOW + 3600) == 0


def test_t09_the_next_hour_is_right_at_every_minute_and_second() -> None:
    for second in range(0, 3600, 7):
        moment = 1_767_322_800.0 + second
        assert timestamps.next_hour(moment) == 1_767_326_400.0


def test_exit_signals(project: Project) -> None:
    folder = project.folder
    writing.record(folder, writing.ended(1, signals=ExitSignals((1,), (4, 5, 6, 7, 8))))
    assert files.read_exit_signals(folder) == ExitSignals((1,), (4, 5, 6, 7, 8), ())
    by_hand(folder, NOW, SignalsCleared())
    assert project.read(".ralph/.exit_signals") == (
        '{"test_only_loops":[],"done_signals":[],"completion_indicators":[]}\n'
    )
    for spoiled in ("", "[]", "{", '{"done_signals": 5}', '{"done_signals": ["1", true, null]}'):
        project.write(".ralph/.exit_signals", spoiled)
        assert not files.read_exit_signals(folder)


def test_analysis_and_findings(project: Project) -> None:
    folder = project.folder
    json_files.write_text(folder / ".response_analysis", ANALYSIS.to_json())
    assert readers.analysis(folder.path)["files_modified"] == 2
    assert files.read_analysis(folder)["work_summary"] == 'said "done"\nand more'
    found = json.dumps({"severity": "HIGH", "issues_found": 2, "summary": "s", "details": []})
    writing.record(folder, ReviewEnded(1, found, "head", b"", 0))
    assert readers.findings(folder.path)["issues_found"] == 2
    writing.record(folder, writing.ended(2))
    assert not (folder / ".review_findings.json").exists()


def test_the_log(project: Project) -> None:
    folder = project.folder
    path = folder.logs / "ralph.log"
    assert log_line(path, "INFO", "one\ntwo\x1b[31m\udcff", NOW) == ("[2026-01-02 03:04:05] [INFO] one two [31m ")
    log_line(folder.logs / "ralph.log", "LOOP", "Loop #2 · ok", NOW)
    assert len(readers.log(folder.path)) == 2


def test_the_log_is_put_aside_when_it_is_large(project: Project) -> None:
    for number in range(12):
        log_line(project.folder.logs / "ralph.log", "INFO", f"{number} {'x' * 100}", NOW, max_bytes=250, keep=2)
    names = sorted(os.listdir(project.folder.logs))
    assert names == ["ralph.log", "ralph.log.1", "ralph.log.2"]
    assert "11 x" in project.read(".ralph/logs/ralph.log")


def test_t17_two_runs_in_one_second_have_logs_of_their_own(project: Project) -> None:
    handler = writing.handler(project.folder)
    first, second, third = (handler.new_logs() for _ in range(3))
    assert first.stderr is not None
    assert first.stream is not None
    assert first.output.name == "claude_output_2026-01-02_03-04-05.log"
    assert first.stderr.name == "claude_stderr_2026-01-02_03-04-05.log"
    assert first.stream.name == "claude_output_2026-01-02_03-04-05_stream.log"
    assert second.output.name == "claude_output_2026-01-02_03-04-05-2.log"
    assert len({first, second, third}) == 3


def test_t17_old_run_logs_go(project: Project) -> None:
    for second in range(12):
        made = writing.handler(project.folder, NOW + second // 2).new_logs()
        for path in (made.stderr, made.stream):
            assert path is not None
            path.touch()
    keep = project.write(".ralph/logs/review_loop_1.log", "")
    assert files.prune_run_logs(project.folder, 0) == 0
    assert files.prune_run_logs(project.folder, 3) == 27
    left = sorted(path.name for path in project.folder.logs.glob("claude_output_*[0-9].log"))
    assert left == [f"claude_output_2026-01-02_03-04-{name}.log" for name in ("09-2", "10-2", "10")]
    assert keep.exists()


def test_live_log_and_metrics(project: Project) -> None:
    folder = project.folder
    folder.logs.mkdir()
    live = LiveLog(folder / "live.log", now=lambda: NOW)
    live.begin("Loop #4")
    live.write(b"x\n")
    live.close()
    assert (folder / "live.log").read_text() == "\n\n=== Loop #4 - 2026-01-02 03:04:05 ===\nx\n"
    writing.record(folder, writing.ended(1))
    with open(folder.logs / "metrics.jsonl", "a") as file:
        file.write('{"loop": 2, "torn')
    writing.record(folder, writing.ended(3))
    first, torn, last, rest = project.read(".ralph/logs/metrics.jsonl").split("\n")
    assert (json.loads(first)["loop"], torn, json.loads(last)["loop"], rest) == (1, '{"loop": 2, "torn', 3, "")


def test_breaker_files(project: Project) -> None:
    folder = project.folder
    assert not breaker_files.is_corrupt(None)
    reset_circuit(folder, NOW)
    assert readers.breaker(folder.path)["reason"] == "Manual reset via command line"
    for spoiled in ("", "[]", '{"state": "SHUT"}', '{"state": "OPEN"}'):
        assert breaker_files.is_corrupt(spoiled)


def test_t16_a_reader_never_sees_a_part(project: Project) -> None:
    """Somebody reads all the time while everything is written again and again."""
    folder = project.folder
    done = threading.Event()
    problems: list[str] = []
    seen: set[str] = set()

    def read() -> None:
        while not done.is_set():
            try:
                seen.update(readers.read_all(folder.path))
            except readers.Corrupt as error:
                problems.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    rounds = 0
    while rounds < 40 or (len(seen) < 5 and rounds < 4000):
        rounds += 1
        status = Status(loop=rounds, action="executing" * (rounds % 7), word="running")
        writing.record(folder, writing.ended(rounds), status=lambda _facts, found=status: found)
        writing.record(folder, writing.progress('"' * rounds, count=rounds, elapsed=rounds))
        reset_circuit(folder, NOW)
        json_files.write_text(folder / ".response_analysis", ANALYSIS.to_json())
        log_line(folder.logs / "ralph.log", "INFO", "x" * rounds, NOW)
    done.set()
    reader.join()
    assert problems == []
    assert seen >= {
        "status.json",
        "progress.json",
        ".response_analysis",
        ".circuit_breaker_state",
        "logs/ralph.log",
    }


def test_a_file_that_cannot_be_written_is_named(project: Project) -> None:
    project.write(".ralph/logs", "in the way")
    with pytest.raises(ProjectUnusable, match=r"logs"):
        log_line(project.folder.logs / "ralph.log", "INFO", "x", NOW)
    (project.path / ".ralph/status.json").mkdir()
    with pytest.raises(ProjectUnusable, match=r"status\.json"):
        writing.record(project.folder, writing.started(1))


def test_a_gate_with_a_byte_that_is_no_text_is_written_as_json(project: Project) -> None:
    gate = custom_gate("grep \udcff x", CommandRun(1, "\udcfe"))
    path = project.path / ".ralph/.quality_gate_results"
    json_files.write_json(path, results_document(GateResults("", 3, TestGate("pass"), (gate,), "fail", "warn")))
    assert json.loads(path.read_bytes())["custom_gates"][0]["command"] == "grep ? x"


def test_a_fifo_in_the_place_of_the_live_log_is_refused(project: Project) -> None:
    os.mkfifo(project.folder / "live.log")
    with pytest.raises(ProjectUnusable, match=r"live\.log is a FIFO"):
        LiveLog(project.folder / "live.log").begin("Loop #3")
    assert (project.folder / "live.log").is_fifo()
