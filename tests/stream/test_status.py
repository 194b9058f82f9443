"""Status blocks and promises in an assistant's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.scripts.stream.status import StatusBlock, find_promise, parse_status

BLOCK = """\
---RALPH_STATUS---
STATUS: IN_PROGRESS
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 3
TESTS_STATUS: FAILING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: false
RECOMMENDATION: continue: task 2
---END_RALPH_STATUS---
"""
FULL = StatusBlock(
    status="IN_PROGRESS",
    exit_signal=False,
    tasks_completed=1,
    tests_status="FAILING",
    files_modified=3,
    work_type="IMPLEMENTATION",
    recommendation="continue: task 2",
)
TEMPLATE = """\
---RALPH_STATUS---
STATUS: IN_PROGRESS | COMPLETE | BLOCKED
TASKS_COMPLETED_THIS_LOOP: <number>
EXIT_SIGNAL: false | true
RECOMMENDATION: <one line summary>
---END_RALPH_STATUS---
"""


def block(*fields: str) -> str:
    return "\n".join(["---RALPH_STATUS---", *fields, "---END_RALPH_STATUS---"])


def test_markers_glued_to_prose() -> None:
    glued = "Built it, all done. " + BLOCK.replace("\n---END", " ---END").rstrip() + " Bye.\n"
    assert parse_status(glued) == FULL
    named = "I end with a `---RALPH_STATUS---` block.\n\n" + BLOCK
    assert parse_status(named) == FULL
    assert parse_status("I end with a `---RALPH_STATUS---` block.\nEXIT_SIGNAL: true\n") is None


def test_every_field() -> None:
    assert parse_status("Some prose.\n\n" + BLOCK) == FULL


@pytest.mark.parametrize("prefix", ["> ", "- ", "  ", "* ", "\t", "> > ", "\x1b[32m", "| "])
def test_what_markdown_puts_in_front(prefix: str) -> None:
    assert parse_status("".join(prefix + line + "\n" for line in BLOCK.splitlines())) == FULL


@pytest.mark.parametrize(
    "form", ["**{}:** {}", "**{}**: {}", "- **{}:** {}", "`{}`: {}", "{} : {}", "1. {}: **{}**", "{}: `{}`"]
)
def test_emphasis(form: str) -> None:
    fields = [form.format(*line.split(": ", 1)) for line in BLOCK.splitlines()[1:-1]]
    assert parse_status(block(*fields)) == FULL


@pytest.mark.parametrize("form", ["**{}**", "`{}`", "### {}", "{}  \r"])
def test_emphasis_on_the_markers(form: str) -> None:
    lines = BLOCK.splitlines()
    lines[0], lines[-1] = form.format(lines[0]), form.format(lines[-1])
    assert parse_status("\n".join(lines)) == FULL


def test_code_fence_and_crlf() -> None:
    assert parse_status(("```\n" + BLOCK + "```\n").replace("\n", "\r\n")) == FULL


def test_keys_in_any_case() -> None:
    assert parse_status(block("Status: complete", "exit signal: TRUE")) == StatusBlock(
        status="COMPLETE", exit_signal=True
    )


def test_T4_the_last_block_counts() -> None:  # noqa: N802
    quoted = block("STATUS: COMPLETE", "EXIT_SIGNAL: true")
    assert parse_status(f"As in the example:\n{quoted}\nNow mine:\n{BLOCK}") == FULL


def test_a_template_is_no_block() -> None:
    assert parse_status(TEMPLATE) is None
    assert parse_status(BLOCK + TEMPLATE) == FULL


def test_a_mention_in_prose_is_no_marker() -> None:
    assert parse_status(BLOCK + "I ended with the ---RALPH_STATUS--- block.\nSTATUS: COMPLETE\n") == FULL


def test_an_unterminated_block_goes_on_to_the_end() -> None:
    assert parse_status("---RALPH_STATUS---\nSTATUS: BLOCKED\n\nfoo") == StatusBlock(
        status="BLOCKED", terminated=False
    )


def test_an_unterminated_block_ends_where_the_next_begins() -> None:
    assert parse_status("---RALPH_STATUS---\nEXIT_SIGNAL: true\n" + BLOCK) == FULL


def test_an_empty_start_at_the_end_does_not_hide_the_block() -> None:
    assert parse_status(BLOCK + "---RALPH_STATUS---") == FULL


def test_fields_outside_of_a_block_are_prose() -> None:
    assert parse_status("STATUS: COMPLETE\nEXIT_SIGNAL: true\n") is None
    assert parse_status(BLOCK + "\nEXIT_SIGNAL: true\n") == FULL


def test_the_last_readable_value_counts() -> None:
    assert parse_status(block("EXIT_SIGNAL: true", "EXIT_SIGNAL: false", "EXIT_SIGNAL: perhaps")) == StatusBlock(
        exit_signal=False
    )


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("true", True),
        ("False", False),
        ("true.", True),
        ("true (all done)", True),
        ("false - two tasks left", False),
        ("true | false", None),
        ("true/false", None),
        ("true or false", None),
        ("trueish", None),
        ("yes", None),
        ("", None),
    ],
)
def test_exit_signal(value: str, meant: bool | None) -> None:
    found = parse_status(block(f"EXIT_SIGNAL: {value}", "STATUS: X"))
    assert found is not None
    assert found.exit_signal is meant


@pytest.mark.parametrize(
    ("value", "meant"),
    [("2", 2), ("2 tasks", 2), ("2 (of 5)", 2), ("2/5", None), ("two", None), ("-1", None)],
)
def test_tasks_completed(value: str, meant: int | None) -> None:
    found = parse_status(block(f"TASKS_COMPLETED_THIS_LOOP: {value}", "STATUS: X"))
    assert found is not None
    assert found.tasks_completed == meant


@given(st.text())
def test_no_text_raises(text: str) -> None:
    parse_status(text)
    parse_status("---RALPH_STATUS---\n" + text)
    find_promise(text)


@given(st.text(max_size=50), st.text(max_size=50))
def test_prose_around_a_block_changes_nothing(before: str, after: str) -> None:
    assert parse_status(f"{before}\n{BLOCK}{after}") == FULL


# promises (reference: the contradictions 12 and 13 of wiggum, and the official plugin's quirks)


@pytest.mark.parametrize(
    "text",
    [
        "<promise>COMPLETE</promise>",
        "Done. <promise> COMPLETE\n</promise> Bye.",
        "`<promise>COMPLETE</promise>`",
        "```\n<promise>COMPLETE</promise>\n```",
        "<promise>REPLAN</promise> <promise>COMPLETE</promise>",
        "an open <promise> tag, then <promise>COMPLETE</promise>",
    ],
)
def test_promise_kept(text: str) -> None:
    assert find_promise(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "COMPLETE",
        "<promise>complete</promise>",
        "<promise>COMPLETE",
        "<promise>NOT COMPLETE</promise>",
        "<promise></promise>",
    ],
)
def test_promise_not_kept(text: str) -> None:
    assert not find_promise(text)


def test_a_promise_is_literal() -> None:
    assert find_promise("<promise>a.b  c</promise>", "a.b c")
    assert not find_promise("<promise>aXb c</promise>", "a.b c")
    assert not find_promise("<promise></promise>", " ")


@pytest.mark.parametrize("piece", ["-", " ", "*", "a ", "a_", "- ", "1) ", "--- ", "STATUS: A ", "---RALPH_STATUS"])
def test_a_model_that_repeats_itself_costs_no_square(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    within = f"---RALPH_STATUS---\n{text}x\n{text}: x\nSTATUS: A{text}x\n"
    assert parse_status(BLOCK.replace("---RALPH_STATUS---\n", within) + text) == FULL


def test_many_open_tags_cost_no_square() -> None:
    assert not find_promise("<promise>" * 200_000)


def test_a_block_that_is_cut_anywhere_ends_no_loop() -> None:
    whole = BLOCK.replace("EXIT_SIGNAL: false", "EXIT_SIGNAL: true").replace("IN_PROGRESS", "COMPLETE").rstrip()
    # But for the last dashes of the end marker.
    cuts = [whole[:end] for end in range(len("---RALPH_STATUS---"), len(whole) - 2)]
    found = {cut: parse_status(f"All is done.\n{cut}") for cut in cuts}
    assert [cut for cut, status in found.items() if status is None or status.asks_to_end] == []
    assert len(cuts) > 150


def test_an_earlier_block_does_not_stand_in_for_one_that_is_cut() -> None:
    quoted = block("STATUS: COMPLETE", "EXIT_SIGNAL: true")
    for cut in ("---RALPH_STATUS---\nSTATUS: COMPLETE", "---RALPH_STATUS---\nEXIT_SIGNAL: true"):
        found = parse_status(f"The example:\n{quoted}\nMine:\n{cut}")
        assert found is not None
        assert found.asks_to_end is False


COLON = """\
RALPH_STATUS:
  STATUS: COMPLETE
  TASKS_COMPLETED_THIS_LOOP: 2
  EXIT_SIGNAL: true
  reason: "all ticked: nothing is left"
"""


@pytest.mark.parametrize(
    "text",
    [
        COLON,
        f"All is done.\n\n{COLON}",
        f"{COLON}\nThat was all. EXIT_SIGNAL: false would be wrong.\n",
        f"```yaml\n{COLON}```\n",
        f"```yaml\n{COLON}```\nI leave EXIT_SIGNAL: false to the next one.\n",
        COLON.replace("\n", "\r\n"),
        COLON.replace("\n", "  \t\n"),
        COLON.replace("  ", ""),
        COLON.replace("  ", "- "),
        COLON.replace("  ", "\t"),
        "".join(f"  {line}\n" for line in COLON.splitlines()),
        "".join(f"> {line}\n" for line in COLON.splitlines()),
        "".join(f"\x1b[32m{line}\x1b[0m\n" for line in COLON.splitlines()),
        COLON.replace("RALPH_STATUS:", "**RALPH_STATUS:**"),
        COLON.replace("RALPH_STATUS:", "## RALPH_STATUS:"),
        COLON.replace("RALPH_STATUS:\n", "RALPH_STATUS:  # of this loop\n\n"),
        COLON.replace("EXIT_SIGNAL: true", "**exit_signal:** `TRUE`"),
        f"{BLOCK}\n{COLON}",
        f"---RALPH_STATUS---\n{COLON}---END_RALPH_STATUS---\n",
    ],
)
def test_keys_below_a_heading(text: str) -> None:
    found = parse_status(text)
    assert found is not None
    assert (found.status, found.tasks_completed, found.asks_to_end) == ("COMPLETE", 2, True)


@pytest.mark.parametrize(
    "text",
    [
        "I close with RALPH_STATUS:\n  EXIT_SIGNAL: true\n",
        "RALPH_STATUS: is what I close with.\n  EXIT_SIGNAL: true\n",
        "The commit says `RALPH_STATUS: EXIT_SIGNAL: true` now.\n",
        "MY_RALPH_STATUS:\n  EXIT_SIGNAL: true\n",
        "RALPH_STATUS:\nis what I close with.\nEXIT_SIGNAL: true\n",
        "RALPH_STATUS:\n  STATUS: IN_PROGRESS | COMPLETE\n  EXIT_SIGNAL: false | true\n  RECOMMENDATION: <one>\n",
    ],
)
def test_a_heading_stands_alone(text: str) -> None:
    found = parse_status(text)
    assert found is None or found.asks_to_end is False


def test_the_last_block_counts_whatever_its_form() -> None:
    assert parse_status(COLON + BLOCK) == FULL
    found = parse_status(COLON + COLON.replace("true", "false"))
    assert found is not None
    assert found.asks_to_end is False


@pytest.mark.parametrize("cut", ["  EXIT_SIGNAL: t", "  EXIT_SIGNAL:", "  EXIT_SIG", "  EXIT_SIGNAL: tru"])
def test_below_a_heading_half_a_line_ends_no_loop(cut: str) -> None:
    found = parse_status(f"Done.\nRALPH_STATUS:\n  STATUS: COMPLETE\n{cut}")
    assert found is not None
    assert found.asks_to_end is False
