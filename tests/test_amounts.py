"""Amounts as others write them: what isn't sane is unknown, never subtracted, and nothing crashes because of it."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base import timestamps
from bridge.base.amounts import MOST, amount, total, whole
from bridge.base.json_files import read_json, to_json
from bridge.loop.engine.caps import Caps, Tally
from bridge.loop.engine.run_record import RunRecord, read_run
from bridge.loop.engine.turn_records import NOTHING, Spent, TurnRecord, totals_of
from bridge.loop.report.charts import growth
from bridge.loop.report.run_report import read_turn
from bridge.loop.setups.dot_ralph.breaker_files import read_breaker
from bridge.loop.swarm.folder import EventsTail
from bridge.loop.swarm.status import shown
from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord, read_swarm
from bridge.loop.tasks.task import Task
from bridge.scripts.stream.analysis.limits import reset_time
from bridge.scripts.stream.events import Reader
from bridge.scripts.stream.events.base import Usage

if TYPE_CHECKING:
    from pathlib import Path


INSANE = (
    "1e308",
    "1e999",
    "-1e999",
    "NaN",
    "-5",
    "-0.01",
    "true",
    "null",
    '"NaN"',
    '"5"',
    "{}",
    "[[1]]",
    "1" + "0" * 400,
)
"""As JSON has them."""
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RESULT = (
    '{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s","result_index":1,'
    '"total_cost_usd":%s,"duration_ms":%s,"num_turns":%s,"usage":{"input_tokens":%s,"output_tokens":%s}}\n'
)


def _value(text: str) -> Any:
    return json.loads(text)


@pytest.mark.parametrize("text", INSANE)
def test_what_is_no_sane_number_is_none(text: str) -> None:
    assert amount(_value(text)) is whole(_value(text)) is None
    assert total(2, _value(text)) == 2


def test_sane_ones_stay_as_they_are_and_sums_never_overflow() -> None:
    assert [amount(each) for each in (0, 0.0, 0.25, MOST)] == [0, 0.0, 0.25, MOST]
    assert sum([float(MOST)] * 9000) == MOST * 9000
    assert total(MOST, MOST) is None


@pytest.mark.parametrize("text", INSANE)
@pytest.mark.parametrize(
    "line",
    [
        RESULT.replace("%s", "@"),
        '{"type":"turn.completed","usage":{"input_tokens":@,"output_tokens":@,"cached_input_tokens":@}}\n',
        '{"type":"step_finish","part":{"cost":@,"tokens":{"input":@,"output":@,"cache":{"read":@,"write":@}}}}\n',
        '{"type":"result","status":"success","stats":{"input_tokens":@,"output_tokens":@,"total_tokens":@,"cached":@}}\n',
        '{"type":"run_result","usage":{"inputTokens":@,"outputTokens":@,"totalCost":@},"durationMs":@,"iterations":@}\n',
        '{"stats":{"models":{"m":{"tokens":{"prompt":@,"candidates":@,"total":@,"cached":@}}}},"response":"x"}\n',
    ],
)
def test_what_a_cli_says_is_sane_or_unknown(line: str, text: str) -> None:
    reader = Reader()
    for _ in range(3):
        reader.feed(line.replace("@", text).encode())
    usage = reader.answer().usage
    for field in fields(Usage):
        value = getattr(usage, field.name)
        assert value is None or (field.name == "num_turns" and value <= 3) or isinstance(value, bool), (
            field.name,
            value,
        )


@pytest.mark.parametrize("resets", [1e308, -1e308, 1e12, 1.8e12, float("nan"), True, "x", 10**400])
def test_a_reset_at_no_possible_time_is_unknown(resets: object) -> None:
    reader = Reader()
    event = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": resets}}
    reader.feed((json.dumps(event) + "\n").encode())
    assert reader.answer().reset_at is None


@pytest.mark.parametrize(
    "words", ["retry after " + "9" * 400, f"wait {10**30} weeks", "resets 0001-01-01T00:00:00+14:00"]
)
def test_nor_is_one_in_words(words: str) -> None:
    assert reset_time(words, NOW) is None


@pytest.mark.parametrize("moment", [1e308, -1e308, float("inf"), 1e12, -62135647200.0])
def test_every_time_can_be_shown(moment: float) -> None:
    for show in (timestamps.iso, timestamps.iso_precise, timestamps.local, timestamps.clock, timestamps.hour):
        assert show(moment)
    assert timestamps.shown(moment, "%H")
    assert timestamps.moment(moment) is None


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "1900-01-01T00:00:00Z"])
def test_a_time_that_no_loop_had_is_no_time(text: str) -> None:
    assert timestamps.parse_iso(text) is None


def test_a_tally_only_grows() -> None:
    tally = Tally(Caps(max_cost=1), Spent(sessions=(("s", (MOST, MOST, MOST)),)))
    before = tally.spent
    for text in INSANE:
        reader = Reader()
        reader.feed((RESULT % ((text,) * 5)).encode())
        usage = reader.answer().usage
        record = tally.add(TurnRecord(turn=1, began=0.0, seconds=1.0, result="success", session="s"), usage, NOW)
        assert (record.cost_usd, record.input_tokens) == (None, None)
        assert tally.spent.cost_usd >= before.cost_usd
    assert tally.untold == {"cost", "tokens"}
    decision = tally._caps.reached(tally.spent, tally.untold, NOW)
    assert decision is not None
    assert decision.reason == "cost_unknown"  # as for a CLI that never tells


@pytest.mark.parametrize("text", INSANE)
def test_a_forged_record_of_a_run_is_read(tmp_path: Path, text: str) -> None:
    run = {"run_id": "r", "pid": 1, "started": "1", "boot": "b", "since": "2026-01-01T00:00:00Z", "command": "c"}
    value = _value(text)
    spent = dict.fromkeys(Spent._fields, value)
    lists = ([value] * 3, [value], value, [[value]] * 5)
    for counts in lists:
        sessions = [["s", counts], counts, value]
        record = {**run, "turn": value, "spent": {**spent, "sessions": sessions}, "caps": {"max_cost": value}}
        (tmp_path / ".ralph_bridge.json").write_text(json.dumps(record))
        found = read_run(tmp_path)
        assert isinstance(found, RunRecord)
        assert found.spent[:2] == NOTHING[:2]
        assert (found.turn, found.caps) == (0, {})
        assert all(each == ("s", (0.0, 0.0, 0.0)) for each in found.spent.sessions)


@pytest.mark.parametrize("text", INSANE)
def test_a_forged_turn_is_read_with_what_it_lacks_unknown(text: str) -> None:
    line = asdict(TurnRecord(turn=3, began=0.0, seconds=1.0, result="success")) | {"began": "2026-01-01T00:00:00Z"}
    numbers = [each.name for each in fields(TurnRecord) if each.name not in ("turn", "began", "result")]
    turn = read_turn(line | dict.fromkeys(numbers, _value(text)))
    assert turn is not None
    totals = totals_of([turn, turn])
    assert (totals.cost_usd, totals.tokens, totals.seconds) == (None, None, 0.0)
    assert read_turn(line | {"turn": _value(text)}) is None
    assert read_turn(line | {"plan": [_value(text), 1]}).plan is None  # type: ignore[union-attr]


@pytest.mark.parametrize("text", INSANE)
def test_a_forged_record_of_a_swarm_is_read(tmp_path: Path, text: str) -> None:
    record = asdict(
        SwarmRecord(
            run="r", project="/p", kind="plain", base="b", branch="x", tasks=[TaskRecord(Task("t", "T", "do it"))]
        )
    )
    numbers = ("int", "float", "float | None")
    record |= {each.name: _value(text) for each in fields(SwarmRecord) if each.type in numbers}
    record["tasks"][0] |= {each.name: _value(text) for each in fields(TaskRecord) if each.type in numbers}
    (tmp_path / "swarm.json").write_text(json.dumps(record))
    found = read_swarm(tmp_path)
    assert found is not None
    assert found.tasks[0] == TaskRecord(Task("t", "T", "do it"))
    assert shown(found, tmp_path)["cost_usd"] is None
    names = ("turn", "attempt", "worker", "seconds", "at", "input_tokens", "output_tokens", "cost_usd")
    (tmp_path / "events.jsonl").write_text(
        "[" * 99_999 + "\n" + json.dumps(dict.fromkeys(names, _value(text))) + "\n"
    )
    assert EventsTail(tmp_path / "events.jsonl").read() == [dict.fromkeys(names)]


@pytest.mark.parametrize("text", INSANE)
def test_a_forged_breaker_is_read(text: str) -> None:
    names = ("consecutive_no_progress", "total_opens", "current_loop")
    found = read_breaker(json.dumps({"state": "CLOSED", **dict.fromkeys(names, _value(text))}), NOW)
    assert (found.consecutive_no_progress, found.total_opens, found.current_loop) == (0, 0, None)


def test_what_is_written_is_json(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(to_json({"a": [float("inf"), {"b": float("nan")}], "c": 1e308}))
    assert read_json(path) == {"a": [None, {"b": None}], "c": 1e308}


@pytest.mark.parametrize("moments", [(5.0, 5.0), (9.0, 5.0, 7.0), (0.0, 253_370_764_800.0)])
def test_a_chart_of_any_times_can_be_drawn(moments: tuple[float, ...]) -> None:
    points = [(moment, 1.0) for moment in moments]
    assert "<svg" in growth(points, title="x", marks=[], clock=timestamps.clock, amount=str)
