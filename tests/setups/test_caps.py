"""What a run may use: no turn starts beyond a cap, in every kind of setup alike, also after a crash."""

from __future__ import annotations

import json
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.loop.engine.caps import Caps, Tally
from bridge.loop.engine.turn_records import SESSIONS, Spent, TurnRecord
from bridge.scripts.stream.events.base import Usage

if TYPE_CHECKING:
    from tests.setups.conftest import Setup

ROOT = Path(__file__).resolve().parents[2]
# Each turn costs $0.25 and uses 15 tokens.


def _calls(setup: Setup) -> int:
    return int((setup.folder.parent / "count").read_text())


@pytest.mark.parametrize(
    ("cap", "reason", "said"),
    [
        (["--max-cost", "0.60"], "max_cost", "$0.75 of at most $0.60 are spent"),
        (["--max-tokens", "45"], "max_tokens", "45 of at most 45 tokens are used"),
    ],
)
def test_no_turn_starts_beyond_a_cap(setup: Setup, cap: list[str], reason: str, said: str) -> None:
    done = setup.run(*setup.words(9), *cap)
    assert _calls(setup) == 3, done.stderr
    assert f"{said} ({reason})" in done.stderr or (setup.kind == "ralph-loop" and said in done.stderr + done.stdout)
    assert done.returncode == setup.ends


def test_a_cap_of_the_environment_holds_and_the_command_line_wins(setup: Setup) -> None:
    setup.run(*setup.words(9), RALPH_BRIDGE_MAX_COST="0.3")
    assert _calls(setup) == 2
    setup.run(*setup.words(9), "--max-cost", "0.7", RALPH_BRIDGE_MAX_COST="0.3")
    assert _calls(setup) == 2 + 3


def test_people_are_warned_when_four_fifths_are_used(setup: Setup) -> None:
    done = setup.run(*setup.words(9), "--max-cost", "1.1")
    assert "91% of the cap is used: $1.00 of $1.10" in done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("of the cap is used") == 1


@pytest.mark.parametrize(
    "usage",
    [
        ("0.25", "1e308", "cost_unknown"),
        ("0.25", "-0.25", "cost_unknown"),
        ('"input_tokens":10,"output_tokens":5', '"input_tokens":-10,"output_tokens":1e999', "tokens_unknown"),
    ],
)
def test_an_amount_that_makes_no_sense_is_unknown_and_the_next_run_can_be_started(
    setup: Setup, usage: tuple[str, str, str]
) -> None:
    sane, insane, reason = usage
    cli = setup.folder / "bin" / "claude"
    cli.write_text(cli.read_text().replace(sane, insane))
    setup.loop(3)
    cap = "--max-cost" if reason == "cost_unknown" else "--max-tokens"
    done = setup.run(*setup.words(9), cap, "1000")
    assert (_calls(setup), done.returncode) == (4, setup.ends), done.stderr
    spent = json.loads((setup.state / ".ralph_bridge.json").read_text())["spent"]
    assert spent["cost_usd" if reason == "cost_unknown" else "tokens"] == 0
    assert setup.run("report").returncode == 0


def test_the_total_survives_a_kill_of_the_host(setup: Setup) -> None:
    cli, hangs = setup.folder / "bin" / "claude", setup.folder.parent / "hangs"
    count = "echo $n > ../count\n"
    hanging = f"{count}[[ $n = 3 && ! -e ../hangs ]] && {{ touch ../hangs; exec sleep 600; }}\n"
    cli.write_text(cli.read_text().replace(count, hanging, 1))
    with setup.start(*setup.words(9), "--max-cost", "1") as killed:
        while not hangs.exists():
            assert killed.poll() is None
            time.sleep(0.02)
        killed.kill()
        killed.communicate()
    words = [word for word in setup.words(9) if word != "--fresh"]
    again = setup.run(*words, "--max-cost", "1")
    spent = json.loads((setup.state / ".ralph_bridge.json").read_text())["spent"]
    assert (_calls(setup), spent["cost_usd"]) == (2 + 1 + 2, 1.0), again.stderr  # the killed turn told nothing


def test_a_run_that_ended_in_order_is_not_gone_on_with(setup: Setup) -> None:
    for calls in (1, 2):
        setup.run(*setup.words(9), "--max-cost", "0.25")
        assert _calls(setup) == calls


def test_the_tokens_of_an_hour_hold_in_the_next_run_too(setup: Setup) -> None:
    setup.run(*setup.words(1))
    record = setup.state / ".ralph_bridge.json"
    with setup.start(*setup.words(9), "--tokens-per-hour", "15") as waiting:
        pause = None
        while pause is None:
            assert waiting.poll() is None
            pause = json.loads(record.read_text())["pause"]
        waiting.send_signal(signal.SIGINT)
        waiting.communicate()
    said = "15 of at most 15 tokens of this hour are used"
    assert (_calls(setup), pause["reason"], pause["detail"]) == (1, "tokens_per_hour", said)


def test_caps_that_can_t_be_held_are_refused_before_anything_starts(setup: Setup) -> None:
    half = setup.run(*setup.words(3), "--max-cost", "1", "--price-in", "3")
    assert half.returncode == setup.refuses
    assert "next: give --price-out, too" in half.stderr
    if setup.kind == "ralph-loop":
        return  # which has no driver
    tool = [word if word != "claude-code" else "codex" for word in setup.words(3)]
    tool += ["--driver", "codex"] if setup.kind == "frankbria" else []
    setup.cli("codex", "exit 9")  # what is missing is said first
    if setup.kind == "bmalph":
        (setup.folder / ".ralph/drivers/codex.sh").write_bytes((ROOT / "drivers/codex.sh").read_bytes())
    refused = setup.run(*tool, "--max-cost", "1")
    assert refused.returncode == setup.refuses
    assert "codex never tells what it costs: --max-cost can't be held" in refused.stderr
    assert "--price-in" in refused.stderr
    assert not (setup.folder.parent / "count").exists()


CAPS = Caps(max_cost=1.0, max_tokens=100, tokens_per_hour=50)
NOON = datetime(2026, 11, 22, 12, 59, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spent", "untold", "reason"),
    [
        (Spent(0.99, 99), (), None),
        (Spent(1.0, 0), (), "max_cost"),
        (Spent(0, 100), (), "max_tokens"),
        (Spent(0, 0), ("cost",), "cost_unknown"),
        (Spent(1.0, 0), ("cost",), "max_cost"),
        (Spent(0, 0), ("tokens",), "tokens_unknown"),
        (Spent(0, 60, "2026112212", 50), (), "tokens_per_hour"),
        (Spent(0, 60, "2026112211", 50), (), None),
    ],
)
def test_what_is_reached(spent: Spent, untold: tuple[str, ...], reason: str | None) -> None:
    decision = CAPS.reached(spent, untold, NOON)
    assert (decision and decision.reason) == reason
    if reason == "tokens_per_hour":
        assert decision is not None
        assert decision.wait == 30.0


def _turn(session: str = "s") -> TurnRecord:
    return TurnRecord(turn=1, began=0.0, seconds=1.0, result="success", session=session)


def test_a_thread_s_count_is_cumulative_and_a_turn_s_is_the_difference() -> None:
    tally = Tally(Caps())
    counts = [(2468, 56, 2000), (4936, 112, 4000), (4936, 112, 4000), (9000, 200, 5000)]
    used = [
        tally.add(_turn(), Usage(*count, cumulative=True), NOON, resumed=number > 0)
        for number, count in enumerate(counts)
    ]
    told = [(each.input_tokens, each.output_tokens, each.cached_tokens) for each in used]
    assert told == [(2468, 56, 2000), (2468, 56, 2000), (0, 0, 0), (4064, 88, 1000)]
    assert tally.totals.tokens == 9200
    further = Tally(Caps(), tally.spent.anew())  # the next run resumes the thread
    assert further.add(_turn(), Usage(9100, 210, 5000, cumulative=True), NOON, resumed=True).input_tokens == 100
    strange = Tally(Caps())  # nobody has counted what came before
    assert strange.add(_turn(), Usage(9100, 210, 5000, cumulative=True), NOON, resumed=True).input_tokens is None
    assert strange.untold == {"cost"}


def test_each_of_two_threads_in_turn_has_its_own_count() -> None:
    tally = Tally(Caps())
    turns = [("a", 100), ("b", 1000), ("a", 150), ("b", 1700), ("a", 155)]
    used = [
        tally.add(_turn(session), Usage(count, 0, cumulative=True), NOON, resumed=number > 1).input_tokens
        for number, (session, count) in enumerate(turns)
    ]
    assert used == [100, 1000, 50, 700, 5]
    for number in range(100):
        tally.add(_turn(f"thread {number}"), Usage(1, 1, cumulative=True), NOON)
    assert len(tally.spent.sessions) == SESSIONS


def test_prices_make_money_of_tokens_only_where_the_tool_tells_none() -> None:
    tally = Tally(Caps(price_in=2.0, price_out=10.0))
    assert tally.add(_turn(), Usage(500_000, 100_000), NOON).cost_usd == 2.0
    assert tally.add(_turn(), Usage(500_000, 100_000, total_cost_usd=0.5), NOON).cost_usd == 0.5
    assert tally.add(_turn(), None, NOON).cost_usd is None
    assert tally.untold == {"cost", "tokens"}
