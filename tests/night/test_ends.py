"""How far a loop goes: its iterations, its minutes, and one record for each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base import timestamps
from bridge.loop.engine.lock import standing
from tests.examples import SESSION

if TYPE_CHECKING:
    from tests.examples import Project


def test_max_iterations(night: Project) -> None:
    loop = night.start("--max-iterations", "3")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() == 3
    where = standing(night.state)
    assert (where.word, where.run and where.run.pid, where.run and where.run.turn) == ("ended", loop.pid, 3)


def test_max_minutes_end_the_turn_under_way_too(night: Project) -> None:
    night.turns("leave; hang")
    loop = night.start("--max-minutes", "0.02", "--max-iterations", "5")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.alive() == []
    assert standing(night.state).word == "ended"


def test_b6_one_record_for_each_turn(night: Project) -> None:
    night.turns("work", "fail")
    assert night.start("--max-iterations", "3", "--retry-delay", "0").finished() == night.example.used_up
    records = night.turn_records()
    assert [each["result"] for each in records] == ["success", "failed", *["success"] * (night.begun() - 2)]
    for each in records:
        assert (each["schema"], each["run"]) == (1, night.record()["run_id"])
        assert each["tool"].split()[0] == night.example.tool.split()[0], (
            "a script that was named by its path keeps it"
        )
        assert timestamps.parse_iso(each["began"])
        assert each["seconds"] >= 0
        assert (night.path / each["log"]).is_file()
        good = each["result"] == "success"
        assert (each["status"], each["error"] is None) == (0 if good else 1, good)
        if good:
            assert (each["input_tokens"], each["output_tokens"], each["cost_usd"]) == (3, 4, 0.25)
            assert each["session"] == SESSION
