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

from bridge import records, timestamps
from bridge.errors import ProjectUnusable
from bridge.loop.logs import LiveLog
from bridge.setups.bmalph.gates import CommandRun, GateResults, TestGate, custom_gate, results_document
from bridge.setups.bmalph.recording import gates_shown
from bridge.setups.dot_ralph.exits import ExitSignals
from bridge.setups.dot_ralph.files import breaker, logs, small, status
from bridge.setups.dot_ralph.files.status import Status
from bridge.stream.analysis.model import Analysis
from tests.setups.bmalph import readers
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
    status.write_status(project.folder, Status(3, 7, 100, "failed", "error"), NOW, driver_exit_code=1)
    assert project.read(".ralph/status.json") == (
        '{\n  "timestamp": "2026-01-02T03:04:05+00:00",\n  "loop_count": 3,\n  "calls_made_this_hour": 7,\n'
        '  "max_calls_per_hour": 100,\n  "last_action": "failed",\n  "status": "error",\n  "exit_reason": "",\n'
        '  "next_reset": "04:00:00",\n  "driver_exit_code": 1\n}\n'
    )
    gates = GateResults("", 3, TestGate("fail"), (), "fail", "block")
    records.write_json(project.path / ".ralph/.quality_gate_results", results_document(gates))
    status.write_status(
        project.folder,
        Status(3, 7, 100, "api_limit", "paused", next_reset=NOW + 600),
        NOW,
        **gates_shown(project.folder),
    )
    record = readers.status(project.folder.path)
    assert record["quality_gates"] == {"overall_status": "fail", "mode": "block"}
    assert record["next_reset"] == "03:14:05"


def test_t22_a_status_that_readers_call_corrupt_is_never_written(project: Project) -> None:
    with pytest.raises(ValueError, match="retrying"):
        status.write_status(project.folder, Status(1, 0, 1, "write_timeout", "retrying"), NOW)  # type: ignore[arg-type]
    assert not (project.folder / "status.json").exists()


@given(st.text())
@hypothesis_settings(max_examples=50)
def test_t10_progress_is_json_whatever_the_cli_prints(project: Project, line: str) -> None:
    status.write_running(project.folder, poll=5, elapsed=12.7, last_line=line, now=NOW)
    record = readers.progress(project.folder.path)
    assert (record["status"], record["elapsed_seconds"], record["indicator"]) == (
        "executing",
        12,
        status.SPINNER[1],
    )
    assert len(record["last_output"].encode()) <= 80


def test_progress_at_the_end(project: Project) -> None:
    status.write_finished(project.folder, succeeded=False, now=NOW)
    assert project.read(".ralph/progress.json") == '{"status":"failed","timestamp":"2026-01-02 03:04:05"}\n'


def test_calls_of_one_clock_hour(project: Project) -> None:
    folder = project.folder
    assert small.calls_made(folder, NOW) == 0
    small.reset_calls(folder, NOW)
    assert (project.read(".ralph/.call_count"), project.read(".ralph/.last_reset")) == ("0\n", "2026010203\n")
    project.write(".ralph/.call_count", "2\n")
    small.reset_calls(folder, NOW + 1)
    assert [small.calls_made(folder, now) for now in (NOW + 1, NOW + 3600)] == [2, 0]
    small.reset_calls(folder, NOW + 3600)
    assert project.read(".ralph/.call_count") == "0\n"
    project.write(".ralph/.call_count", "many")
    assert small.calls_made(folder, NOW + 3600) == 0


def test_t09_the_next_hour_is_right_at_every_minute_and_second() -> None:
    for second in range(0, 3600, 7):
        moment = 1_767_322_800.0 + second
        assert timestamps.next_hour(moment) == 1_767_326_400.0


def test_exit_signals(project: Project) -> None:
    folder = project.folder
    small.write_exit_signals(folder, ExitSignals((1,), (4, 5, 6, 7, 8)))
    assert small.read_exit_signals(folder) == ExitSignals((1,), (4, 5, 6, 7, 8), ())
    small.clear_exit_signals(folder)
    assert project.read(".ralph/.exit_signals") == (
        '{"test_only_loops":[],"done_signals":[],"completion_indicators":[]}\n'
    )
    for spoiled in ("", "[]", "{", '{"done_signals": 5}', '{"done_signals": ["1", true, null]}'):
        project.write(".ralph/.exit_signals", spoiled)
        assert not small.read_exit_signals(folder)


def test_analysis_and_findings(project: Project) -> None:
    folder = project.folder
    records.write_text(folder / ".response_analysis", ANALYSIS.to_json())
    assert readers.analysis(folder.path)["files_modified"] == 2
    assert small.read_analysis(folder)["work_summary"] == 'said "done"\nand more'
    small.write_findings(folder, {"severity": "HIGH", "issues_found": 2, "summary": "s", "details": []})
    assert readers.findings(folder.path)["issues_found"] == 2
    small.delete_findings(folder)
    assert small.read_findings(folder) == {}


def test_the_log(project: Project) -> None:
    folder = project.folder
    assert logs.log(folder, "INFO", "one\ntwo\x1b[31m\udcff", NOW) == ("[2026-01-02 03:04:05] [INFO] one two [31m ")
    logs.log(folder, "LOOP", "Loop #2 · ok", NOW)
    assert len(readers.log(folder.path)) == 2


def test_the_log_is_put_aside_when_it_is_large(project: Project) -> None:
    for number in range(12):
        logs.log(project.folder, "INFO", f"{number} {'x' * 100}", NOW, max_bytes=250, keep=2)
    names = sorted(os.listdir(project.folder.logs))
    assert names == ["ralph.log", "ralph.log.1", "ralph.log.2"]
    assert "11 x" in project.read(".ralph/logs/ralph.log")


def test_t17_two_runs_in_one_second_have_logs_of_their_own(project: Project) -> None:
    first, second, third = (logs.new_run_logs(project.folder, NOW) for _ in range(3))
    assert first.output.name == "claude_output_2026-01-02_03-04-05.log"
    assert first.stderr.name == "claude_stderr_2026-01-02_03-04-05.log"
    assert first.stream.name == "claude_output_2026-01-02_03-04-05_stream.log"
    assert second.output.name == "claude_output_2026-01-02_03-04-05-2.log"
    assert len({first, second, third}) == 3


def test_t17_old_run_logs_go(project: Project) -> None:
    for second in range(12):
        made = logs.new_run_logs(project.folder, NOW + second // 2)
        made.stderr.touch()
        made.stream.touch()
    keep = project.write(".ralph/logs/review_loop_1.log", "")
    assert logs.prune_run_logs(project.folder, 0) == 0
    assert logs.prune_run_logs(project.folder, 3) == 27
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
    logs.append_metrics(folder, {"loop": 1})
    with open(folder.logs / "metrics.jsonl", "a") as file:
        file.write('{"loop": 2, "torn')
    logs.append_metrics(folder, {"loop": 3})
    assert project.read(".ralph/logs/metrics.jsonl").split("\n") == [
        '{"loop":1}',
        '{"loop": 2, "torn',
        '{"loop":3}',
        "",
    ]


def test_breaker_files(project: Project) -> None:
    folder = project.folder
    assert not breaker.is_corrupt(folder)
    breaker.reset(folder, NOW)
    assert readers.breaker(folder.path)["reason"] == "Manual reset via command line"
    for spoiled in ("", "[]", '{"state": "SHUT"}', '{"state": "OPEN"}'):
        project.write(".ralph/.circuit_breaker_state", spoiled)
        assert breaker.is_corrupt(folder)


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
        status.write_status(folder, Status(rounds, 0, 100, "executing" * (rounds % 7), "running"), NOW)
        status.write_running(folder, poll=rounds, elapsed=rounds, last_line='"' * rounds, now=NOW)
        records.write_text(folder / ".response_analysis", ANALYSIS.to_json())
        breaker.reset(folder, NOW)
        logs.log(folder, "INFO", "x" * rounds, NOW)
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
        logs.log(project.folder, "INFO", "x", NOW)
    (project.path / ".ralph/status.json").mkdir()
    with pytest.raises(ProjectUnusable, match=r"status\.json"):
        status.write_status(project.folder, Status(1, 0, 1, "x", "running"), NOW)


def test_a_gate_with_a_byte_that_is_no_text_is_written_as_json(project: Project) -> None:
    gate = custom_gate("grep \udcff x", CommandRun(1, "\udcfe"))
    path = project.path / ".ralph/.quality_gate_results"
    records.write_json(path, results_document(GateResults("", 3, TestGate("pass"), (gate,), "fail", "warn")))
    assert json.loads(path.read_bytes())["custom_gates"][0]["command"] == "grep ? x"


def test_a_fifo_in_the_place_of_the_live_log_is_refused(project: Project) -> None:
    os.mkfifo(project.folder / "live.log")
    with pytest.raises(ProjectUnusable, match=r"live\.log is a FIFO"):
        LiveLog(project.folder / "live.log").begin("Loop #3")
    assert (project.folder / "live.log").is_fifo()
