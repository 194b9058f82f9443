"""The pure parts: state, breaker, signs, plan, progress, prompt."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bridge.errors import StateUnreadable
from bridge.loop.setups.wiggum import breaker as breakers
from bridge.loop.setups.wiggum.breaker import Evidence, WiggumBreaker, WiggumBreakerSettings, WiggumCircuit
from bridge.loop.setups.wiggum.policy import TurnFacts, decide
from bridge.loop.setups.wiggum.progress import Block, count_blocks, host_block, read_blocks, read_items
from bridge.loop.setups.wiggum.signs import error_in, fatal_in, is_stuck
from bridge.loop.setups.wiggum.state import OpenTurn, WiggumState, read_state, write_state
from bridge.loop.setups.wiggum.task import TEMPLATES, filled, template, turn_prompt

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SETTINGS = WiggumBreakerSettings()
HASH = "0123456789abcdef0123456789abcdef"
IDLE, WORK, UNKNOWN = Evidence(changed=False), Evidence(changed=True), Evidence(changed=None)


def after(
    *evidence: Evidence, settings: WiggumBreakerSettings = SETTINGS, breaker: WiggumBreaker | None = None
) -> tuple[WiggumBreaker, str]:
    breaker = breaker or WiggumBreaker()
    tripped = breakers.Tripped()
    for each in evidence:
        breaker, tripped = breakers.record(breaker, each, settings, NOW)
        if tripped.condition:
            break
    return breaker, tripped.condition


# -- the state ---------------------------------------------------------------------------------------


def test_a_state_survives_writing_and_reading() -> None:
    state = WiggumState(
        mode="hook",
        task_name="Größe\ud800",
        session_id="s",
        max_minutes=1.5,
        completed_items=("a", "b"),
        turn=OpenTurn(3, "2026-01-02T03:04:05Z", "abc", None, 2),
        breaker=WiggumBreaker(
            state=WiggumCircuit.OPEN,
            opened_at="2026-01-02T03:04:05Z",
            reason="why",
            trip="stuck",
            no_change_count=1,
            same_error_count=2,
            error_hashes=(HASH,),
            output_lengths=(3, 4),
            opens=5,
            error_streaks={HASH: 2},
            same_message_count=3,
            message_hash="h",
        ),
        by_default=("max_iterations",),
        outcome="stuck",
        last_diff_hash=HASH,
        extra={"theirs": [1], "breaker": {"theirs": 2}, "checkpoints": {"theirs": {}}},
    )
    assert read_state(write_state(state)) == state


def test_the_published_schema_is_read() -> None:
    document = {
        "task_name": "Implement OAuth",
        "started_at": "2026-01-04T14:00:00Z",
        "iteration": 5,
        "last_action": "Completed the callback",
        "remaining_items": 3,
        "total_items": 8,
        "completed_items": ["one", "two"],
    }
    state = read_state(json.dumps(document))
    assert (state.iteration, state.last_action, state.total_items) == (5, "Completed the callback", 8)
    assert (state.max_iterations, state.completion_promise) == (50, "COMPLETE")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ('\ufeff{"iteration": 3}', "iteration", 3),
        ('{"iteration": 3.0}', "iteration", 3),
        ('{"iteration": "3"}', "iteration", 3),
        ('{"breaker": {"state": "open"}}', "breaker", WiggumBreaker(state=WiggumCircuit.OPEN)),
        ('{"breaker": {"state": "half-open"}}', "breaker", WiggumBreaker(state=WiggumCircuit.HALF)),
    ],
)
def test_req_rw_104_other_writers_spellings_are_read(text: str, key: str, value: object) -> None:
    assert getattr(read_state(text), key) == value


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("[]", "no JSON object"),
        ("null", "no JSON object but null"),
        ('{"iteration": -1}', "iteration is -1, expected a whole number"),
        ('{"iteration": true}', "iteration is True"),
        ('{"iteration": 1.5}', "iteration is 1.5"),
        ('{"mode": "inner"}', "mode is 'inner', expected outer or hook"),
        ('{"completion_promise": " "}', "completion_promise"),
        ('{"breaker": []}', r"breaker is \[\], expected an object"),
        ('{"breaker": {"state": "AJAR"}}', "breaker.state|state is 'AJAR'"),
        ('{"breaker_settings": {"on_stuck": "cry"}}', "breaker_settings.on_stuck is 'cry'"),
        ('{"session_id": 5}', "session_id is 5, expected a string"),
        ('{"schema_version": 2}', "schema_version 2"),
    ],
)
def test_a_state_with_a_wrong_value_names_it(document: str, told: str) -> None:
    with pytest.raises(StateUnreadable, match=told):
        read_state(document)


@given(some.text())
def test_any_text_is_a_state_or_refused(text: str) -> None:
    with suppress(StateUnreadable):
        read_state(text)


# -- the breaker -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "trip"),
    [
        ([IDLE] * 2, ""),
        ([IDLE] * 3, "no_file_changes"),
        ([IDLE, IDLE, WORK, IDLE, IDLE], ""),
        ([UNKNOWN] * 20, ""),
        ([IDLE, UNKNOWN, IDLE, UNKNOWN, IDLE], "no_file_changes"),
        ([Evidence(changed=True, error="x")] * 4, ""),
        ([Evidence(changed=True, error="x")] * 5, "repeated_error"),
        ([Evidence(changed=True, error="x")] * 4 + [WORK] + [Evidence(changed=True, error="x")], ""),
        ([Evidence(changed=True, error=str(number)) for number in range(9)], ""),
        ([Evidence(changed=False, error="x")] * 4, ""),
        ([Evidence(changed=False, error="x")] * 5, "repeated_error"),
        ([Evidence(changed=False, error=str(number)) for number in range(3)], "no_file_changes"),
        # 14 F.2: errors of tools, among others; and the same words each time
        ([Evidence(changed=True, tool_errors=("x", str(number))) for number in range(4)], ""),
        ([Evidence(changed=True, tool_errors=("x", str(number))) for number in range(5)], "repeated_error"),
        ([Evidence(changed=True, error=str(number), tool_errors=(str(number - 1),)) for number in range(9)], ""),
        (
            [Evidence(changed=True, error="x"), Evidence(changed=True, tool_errors=("x",))] * 2
            + [Evidence(changed=True, error="x")],
            "repeated_error",
        ),
        ([Evidence(changed=True, message="Done.")] * 4, ""),
        (
            [Evidence(changed=True, message="Done."), Evidence(changed=True, message=" Done.\n")] * 3,
            "repeated_error",
        ),
        ([Evidence(changed=True, message=f"Done {number}.") for number in range(9)], ""),
        (
            [Evidence(changed=True, message="Done.")] * 4
            + [Evidence(changed=True)]
            + [Evidence(changed=True, message="Done.")],
            "",
        ),
        ([Evidence(changed=False, message="Done.")] * 3, "no_file_changes"),
    ],
)
def test_conditions(evidence: list[Evidence], trip: str) -> None:
    breaker, found = after(*evidence)
    assert found == trip
    assert breaker.is_open == bool(trip)


def test_output_and_being_stuck_only_warn_by_default() -> None:
    lengths = [Evidence(changed=True, output_length=1000)] * 3
    short = Evidence(changed=True, output_length=290, stuck=True)
    breaker, _ = after(*lengths)
    assert breakers.record(breaker, short, SETTINGS, NOW)[1].warnings == (
        "output declined by 71% against the turns before",
        "the agent says that it is stuck",
    )
    for setting in ("on_output_decline", "on_stuck"):
        assert after(*lengths, short, settings=replace(SETTINGS, **{setting: "stop"}))[1]  # type: ignore[arg-type]
    off = replace(SETTINGS, on_output_decline="off", on_stuck="off")
    assert breakers.record(breaker, short, off, NOW)[1] == breakers.Tripped()


def test_the_words_of_a_failed_turn_are_no_measure_for_the_next() -> None:
    turn = OpenTurn(1)
    well, _ = decide(WiggumState(), TurnFacts(turn=turn, text="Done.", changed=True), NOW)
    failed, _ = decide(WiggumState(), TurnFacts(turn=turn, text="Done.", changed=True, failure="exit 1"), NOW)
    assert (well.breaker.output_lengths, failed.breaker.output_lengths) == ((5,), ())


def test_open_half_closed() -> None:
    opened, _ = after(IDLE, IDLE, IDLE)
    for minutes, state in ((-5, WiggumCircuit.OPEN), (29, WiggumCircuit.OPEN), (30, WiggumCircuit.HALF)):
        assert breakers.before_start(opened, SETTINGS, NOW + timedelta(minutes=minutes)).state is state
    half = breakers.before_start(opened, SETTINGS, NOW + timedelta(minutes=30))
    assert after(WORK, breaker=half)[0].state is WiggumCircuit.CLOSED
    assert after(UNKNOWN, breaker=half)[0].state is WiggumCircuit.HALF
    again, trip = after(IDLE, breaker=half)
    assert (again.state, trip, again.opens) == (WiggumCircuit.OPEN, "no_file_changes", 2)
    assert breakers.before_start(opened, replace(SETTINGS, cooldown_minutes=0), NOW).state is WiggumCircuit.HALF
    assert breakers.before_start(replace(opened, opened_at="long ago"), SETTINGS, NOW).is_open


def test_reset_by_hand() -> None:
    opened, _ = after(IDLE, IDLE, IDLE)
    assert breakers.reset(opened) == WiggumBreaker(state=WiggumCircuit.HALF, reason="reset by hand", opens=1)
    assert breakers.reset(WiggumBreaker(no_change_count=2)) == WiggumBreaker()


# -- signs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<fatal>no\n compiler</fatal>", "no compiler"),
        ("a\n<fatal>cut off", "cut off"),
        ("<fatal></fatal>", ""),
        ("the <fatal> tag", None),
        ("fatal: not a repository", None),
    ],
)
def test_fatal(text: str, found: str | None) -> None:
    assert fatal_in(text) == found


@pytest.mark.parametrize(
    ("text", "stuck"),
    [
        ("I'm stuck.", True),
        ("Sorry, I am completely stuck on this test.", True),
        ("I am unable to proceed without the key.", True),
        ("I cannot make any progress here", True),
        ("We're going around in circles.", True),
        ("If I'm stuck, I will say so.", False),
        ("I'm no longer stuck.", False),
        ("Fixed the stuck progress bar.", False),
        ("I can proceed.", False),
    ],
)
def test_stuck(text: str, stuck: bool) -> None:
    assert is_stuck(text) == stuck


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Error: a at line 7", "Error: a at line N"),
        ("- **Error:** a", "Error:** a"),
        ("TypeError: x is undefined", "TypeError: x is undefined"),
        ("error TS2304: Cannot find name", "error TSN: Cannot find name"),
        ("FAILED tests/test_a.py::test_b", "FAILED PATH::test_b"),
        ('Traceback (most recent call last):\n  File "a.py", line 3\nKeyError: 7', "KeyError: N"),
        ("All passed, 0 errors", ""),
        ("Added error handling", ""),
        ("No errors: done", ""),
        ("", ""),
        # 14 F.2: inside sentences, without what differs between two turns
        (
            "Attempt 3: it still fails with TypeError: x is undefined. I will try way 4.",
            "TypeError: x is undefined",
        ),
        (
            "I tried again, but got `TypeError: x is undefined`, so I will look elsewhere",
            "TypeError: x is undefined",
        ),
        ("The build ends with error TS2304: Cannot find name 'a'.", "error TSN: Cannot find name 'a'"),
        ("Error: no such table: users. Attempt 7 will differ.", "Error: no such table: users"),
        ("The tests again failed because of connection refused on port 5432.", "connection refused on port N"),
        ("Tests still fail with connection refused on port 5433 (third try).", "connection refused on port N"),
        ("The compiler says error[E0308]: mismatched types", "error[EN]: mismatched types"),
        ("Did a lot. " * 100 + "It fails with ValueError: no. " + "So be it. " * 100, "ValueError: no"),
        ("I keep hitting the same error again.", "I keep hitting the same error"),
        ("Fixed one, but still ValueError: bad input remains", "ValueError: bad input"),
        ("It crashed again: segmentation fault", "segmentation fault"),
        ("npm says ENOENT, open 'x'", "ENOENT, open 'x'"),
        ("I fixed the TypeError: x is undefined.", ""),
        ("When it fails with an error, we try again.", ""),
        ("Completed the item with error messages translated.", ""),
        ("Added a test for KeyError: missing id", ""),
        ("All is well: error messages are shown now", ""),
    ],
)
def test_errors(text: str, error: str) -> None:
    assert error_in(text) == error


# -- the plan, the progress file, the prompt ---------------------------------------------------------


def test_items_of_every_form() -> None:
    text = "- [x] a\n  * [ ] b\n+ [X] c\n1. [ ] d\n- [] no\n- [-] no\n```\n- [ ] example\n```\n- [ ] e\r\n"
    assert read_items(text) == (("a", "c"), ("b", "d", "e"))
    assert read_items("- [x] a\n```sh\nmake\n\n- [ ] b\n") == (("a",), ("b",))
    assert not read_items("").complete
    assert read_items("- [x] a\n").complete


LONG = """# Progress

## Iteration 5 - 2026-01-07T14:30:00Z

### Completed
- Implemented OAuth
- Added errors

### Attempted (failed)
- Tried sessions (test failure)

### Next
- Next to the parser: fix it

### Blockers
- None
"""
SHORT = """## Iteration 6 - 2026-01-07T15:00:00Z
### Completed: [the callback]
### Attempted: nothing
### Next: the endpoint
### Blockers: no network
"""


def test_both_forms_of_progress() -> None:
    long, short = read_blocks(LONG + SHORT)
    assert (long.iteration, long.timestamp, long.auto) == (5, "2026-01-07T14:30:00Z", False)
    assert long.completed == ("Implemented OAuth", "Added errors")
    assert long.attempted == ("Tried sessions (test failure)",)
    assert long.next == ("Next to the parser: fix it",)
    assert long.blockers == ()
    assert (short.completed, short.attempted, short.next) == (("the callback",), (), ("the endpoint",))
    assert short.blockers == ("no network",)
    assert count_blocks(LONG + SHORT, 6) == 1


def test_the_hosts_block_is_read_back() -> None:
    text = host_block(
        Block(iteration=7, timestamp="2026-01-02T03:04:05Z", completed=("a\nb",), attempted=("c",), blockers=("d",))
    )
    [block] = read_blocks(text)
    assert (block.iteration, block.auto, block.completed, block.attempted) == (7, True, ("a b",), ("c",))
    assert (block.next, block.blockers) == ((), ("d",))
    assert read_blocks("") == ()


def test_templates_are_filled() -> None:
    for name in TEMPLATES:
        text = template(name)
        assert "{task_name}" in text
    assert filled("{a} {task_name} ${x} {{objective}}", {"task_name": "T", "objective": "O"}) == "{a} T ${x} {O}"


def test_a_prompt_of_one_s_own_gets_its_placeholders_filled() -> None:
    state = WiggumState(task_name="T", last_action="did \\1 it", total_items=3, remaining_items=2)
    assert (
        turn_prompt("{iteration_count} {last_action} {remaining_count}\n---\n", state, 4) == "4 did \\1 it 2\n---\n"
    )
    text = "## Current State\n- Iteration: 1\n- Last action: x\n- Remaining items: y\n\n## Next\n- Iteration: 1\n"
    assert turn_prompt(text, state, 4) == (
        "## Current State\n- Iteration: 4\n- Last action: did \\1 it\n- Remaining items: 2\n\n"
        "## Next\n- Iteration: 1\n"
    )
