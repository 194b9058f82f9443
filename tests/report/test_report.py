"""``ralph-bridge report``, on runs of every kind of setup, and on records that people or crashes have made."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from bridge.loop.engine.events import LoopEvent, RunNote, TurnRecorded
from bridge.loop.engine.store import Store
from bridge.loop.engine.turn_records import TurnRecord
from bridge.loop.report import formats, html
from bridge.loop.report.run_facts import rows
from bridge.loop.report.run_report import Commit, Report, Run, commit_id, read_report, read_turn
from bridge.loop.setups.overview import LoopPlace
from tests.setups.conftest import setup as setup

if TYPE_CHECKING:
    from tests.setups.conftest import Setup

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "report.schema.json").read_text())
EVIL = "<img src=x onerror=alert(1)> | *b* \x1b[31m\n[l](javascript:1) `c` @you"


def _reported(setup: Setup, *words: str) -> dict[str, Any]:
    done = setup.run("report", "--format", "json", "--setup", setup.kind, *words)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA, format_checker=jsonschema.FormatChecker())
    return document


def test_a_run_is_told_alike_in_every_setup(setup: Setup) -> None:
    setup.loop(2)
    report = _reported(setup)
    assert report["setup"] == setup.kind
    (run,) = report["runs"]
    expected = {"turn_count": 2, "failures": {}, "tokens": 30, "cost_usd": 0.5, "refused": []}
    assert {name: run[name] for name in expected} == expected
    subjects = [each["subject"] for each in run["commits"] if each["subject"].startswith("turn ")]
    assert subjects == ["turn 1", "turn 2"]
    made = {"made-1", "made-2"}
    if setup.kind == "wiggum":  # its first checkpoint holds what lay there
        made |= {".gitignore", "PROMPT.md", "fix_plan.md"}
    assert {each["path"] for each in run["files"]} == made
    assert run["state"] == "incomplete"
    assert run["reason"] in ("max_iterations", "max iterations reached")
    shown = setup.run("report", "--setup", setup.kind).stdout
    for words in ("30\n", "$0.50", "success", "turn 1", "made-1", "incomplete: "):
        assert words in shown
    assert max(map(len, shown.splitlines()[2:-1])) <= 80


def test_one_run_by_its_id_and_all_of_them(setup: Setup) -> None:
    setup.loop(1)
    setup.loop(1)
    runs = _reported(setup, "--all")["runs"]
    assert len(runs) == 2
    assert _reported(setup)["runs"] == runs[1:]
    assert _reported(setup, "--run", runs[0]["run"])["runs"] == runs[:1]
    unknown = setup.run("report", "--setup", setup.kind, "--run", "nothing")
    assert unknown.returncode == 2
    assert "no run begins with 'nothing'" in unknown.stderr


def test_without_a_run_there_is_a_next_step(setup: Setup) -> None:
    refused = setup.run("report", "--setup", setup.kind)
    assert refused.returncode == 2
    assert "no loop has run here yet\n  next: " in refused.stderr


def _loop(folder: Path) -> LoopPlace:
    return LoopPlace("plain", folder, folder / ".ralph")


def _turn(number: int, **changes: Any) -> TurnRecord:
    return replace(TurnRecord(turn=number, began=1000.0 + number, seconds=1.0, result="success"), **changes)


def _record(project: Path, tool: str, *events: LoopEvent) -> None:
    store = Store(project / ".ralph")
    store.run = ("1-a", tool)
    for event in events:
        store.record(event)


def test_a_killed_run_has_its_turns_and_no_end(tmp_path: Path) -> None:
    logs = tmp_path / ".ralph" / "logs"
    began = RunNote("began", 1000.0, {"tool": "driver x", "head": "", "branch": "main", "plan": (0, 3)})
    _record(tmp_path, "driver x", began, TurnRecorded(_turn(1)))
    with open(logs / "turns.jsonl", "a") as file:
        file.write('not json\n[]\n{"run": "1-a", "turn": 2, "other": 1}\n{"torn')
    (run,) = read_report(_loop(tmp_path)).runs
    assert (run.state, run.ended, len(run.turns), run.plans) == ("killed", 1002.0, 1, ((0, 3), None))
    assert "0 of 3 were done at the beginning" in formats.text(read_report(_loop(tmp_path)))


def _runs(project: Path, *events: tuple[str, LoopEvent]) -> None:
    for run_id, event in events:
        store = Store(project / ".ralph")
        store.run = (run_id, "driver x")
        store.record(event)


def _note(kind: str, at: float, **facts: Any) -> RunNote:
    return RunNote(kind, at, {"tool": "driver x", "head": "", "branch": "main", "plan": None, **facts})


END = {"verdict": "complete", "reason": "project_complete", "detail": "all done"}


def test_what_was_killed_and_went_on_has_one_sum(tmp_path: Path) -> None:
    """The parts are told, too: each has its own turns."""
    _runs(
        tmp_path,
        ("0-z", _note("began", 900.0)),
        ("0-z", TurnRecorded(_turn(1, cost_usd=9.0))),
        ("0-z", _note("ended", 950.0, **END)),
        ("1-a", _note("began", 1000.0)),
        ("1-a", TurnRecorded(_turn(1, cost_usd=1.0))),
        ("2-b", _note("began", 2000.0)),
        ("2-b", TurnRecorded(_turn(2000, cost_usd=0.5, result="failed", error="no"))),
        ("2-b", _note("ended", 3010.0, **END)),
    )
    report = read_report(_loop(tmp_path))
    assert [(each.id, each.state) for each in report.runs] == [("1-a", "killed"), ("2-b", "complete")]
    document = formats.document(report)
    jsonschema.validate(document, SCHEMA)
    sums = {name: document["together"][name] for name in ("turn_count", "cost_usd", "failures", "state", "seconds")}
    assert sums == {
        "turn_count": 2, "cost_usd": 1.5, "failures": {"failed": 1}, "state": "complete", "seconds": 2010.0,
    }  # fmt: skip
    assert "these 2 runs together\n  outcome       complete: all done" in formats.text(report)
    assert "### These 2 runs together" in formats.markdown(report)
    assert "<td>together<td>" in html.html(report)
    assert formats.document(read_report(_loop(tmp_path), run="2-b"))["together"] is None


def test_a_run_whose_beginning_a_turn_has_deleted_begins_with_its_first_turn(tmp_path: Path) -> None:
    _runs(tmp_path, ("1-a", TurnRecorded(_turn(2))), ("1-a", _note("ended", 1010.0, **END)))
    (run,) = read_report(_loop(tmp_path)).runs
    assert run.began == _turn(2).began


def test_a_run_without_a_turn_does_not_hide_the_one_before(tmp_path: Path) -> None:
    _runs(
        tmp_path,
        ("1-a", _note("began", 1000.0)),
        ("1-a", TurnRecorded(_turn(1))),
        ("1-a", _note("ended", 1010.0, **END)),
        ("2-b", _note("began", 2000.0)),
        ("2-b", _note("ended", 2001.0, **END)),
        ("3-c", _note("began", 3000.0)),
        ("3-c", _note("ended", 3001.0, **END)),
    )
    report = read_report(_loop(tmp_path))
    assert [each.id for each in report.runs] == ["1-a", "3-c"]
    assert report.together is None


def test_columns_have_a_gap_and_words_stay_whole() -> None:
    tool, path = "agent a-rather-long-name", f"/{'long-folder/' * 9}file.log"
    turns = (_turn(1, tool=tool), _turn(2, tool="driver x", result="failed", error=f"it can't read {path} at all"))
    shown = formats.text(Report(Path("/p"), "plain", (Run(id="1-a", tool=tool, turns=turns),), Path("/p/logs")))
    assert f"  by {tool}  1 turn, 0 failed" in shown
    assert path in shown


def test_a_turn_that_ran_out_of_time_with_work_done_has_not_failed() -> None:
    run = Run(id="1-a", turns=(_turn(1, result="timeout"), _turn(2, result="timeout", error="it ran for too long")))
    assert run.totals.failures == 1
    assert run.failures == {"timeout": 1}


def test_turns_of_an_older_release_are_a_run_of_which_little_is_known(tmp_path: Path) -> None:
    _record(tmp_path, "agent amp", TurnRecorded(_turn(1, input_tokens=5)))
    report = read_report(_loop(tmp_path))
    (run,) = report.runs
    assert (run.state, run.tool, run.commits) == ("unknown", "agent amp", None)
    assert formats.document(report)["runs"][0]["tokens"] == 5


@pytest.fixture
def evil(tmp_path: Path) -> Report:
    turn = _turn(1, result="failed", error=EVIL, refused=(EVIL,), log=EVIL)
    run = Run(
        id="1-a",
        tool=EVIL,
        began=1.0,
        ended=2.0,
        state="incomplete",
        reason=EVIL,
        detail=EVIL,
        turns=(turn,),
        commits=(Commit("abc", EVIL),),
        files=(),
    )
    return Report(tmp_path, "plain", (run,), tmp_path)


def test_what_an_agent_wrote_is_text_in_markdown(evil: Report) -> None:
    shown = formats.markdown(evil)
    assert "<img" not in shown
    assert "\x1b" not in shown
    assert "@you" not in shown
    assert "[l](" not in shown
    assert all(line.count(" | ") == 1 for line in shown.splitlines() if line.startswith(("| outcome", "| refused")))


def test_what_an_agent_wrote_can_t_move_a_terminal_s_cursor(evil: Report) -> None:
    assert all(sign.isprintable() or sign == "\n" for sign in formats.text(evil))


def test_ten_thousand_turns_are_listed_in_part_and_counted_in_full(tmp_path: Path) -> None:
    turns = tuple(_turn(number, input_tokens=1) for number in range(1, 10_001))
    report = Report(tmp_path, "plain", (Run(id="1-a", turns=turns, ended=1.0),), tmp_path)
    shown = formats.text(report)
    assert "... and 9950 earlier turns" in shown
    assert "10,000" in shown
    assert len(formats.document(report)["runs"][0]["turns"]) == 10_000


@pytest.mark.parametrize(
    ("files", "committed", "shown"),
    [
        ((), False, "0 in commits, 2 in turns without one"),
        ((), None, "0 in commits, 2 in turns without one"),
        ((), True, "0"),
        (None, False, "2 in turns"),
        (None, True, "unknown"),
    ],
)
def test_what_turns_changed_without_a_commit_is_told_beside_what_commits_did(
    files: Any, committed: bool | None, shown: str
) -> None:
    turn = TurnRecord(turn=1, began=0.0, seconds=1.0, result="success", files_changed=1, committed=committed)
    assert dict(rows(Run(id="r", files=files, turns=(turn, replace(turn, turn=2)))))["files changed"] == shown


def test_a_head_that_is_no_commit_is_none() -> None:
    """An agent writes to the records, too; git would take ``--output=FILE`` for an option, and write the file."""
    wanted = ["a" * 40, "b" * 64, "", None, None, None, None]
    given = ["a" * 40, "b" * 64, "", "--output=/x", "HEAD", "a" * 40 + "\n", 7]
    assert [commit_id(each) for each in given] == wanted
    turn = read_turn({"turn": 1, "result": "success", "head": "--output=/x"})
    assert turn is not None
    assert turn.head is None
