"""Prompts by pattern: what counts as one, where it begins, and that reads don't matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.adapters.escapes import visible
from bridge.adapters.patterns import compiled, marker_pattern, translated
from bridge.adapters.prompts import PromptDetector

E = "\x1b"
LINE_START = r"(^|\n)>>> "
DRAWN = f"{E}[?25l {E}[m it: int = 2 {E}[12;1H> {E}[?25h"
NOT_DRAWN = f"{E}[?25l {E}[m it: int = 2 {E}[12;1H{E}[?25h"

FOUND = [
    (LINE_START, [">>> "], [1]),
    (LINE_START, ["hello\n>>> "], [1]),
    (LINE_START, [">>> 1\n>>> "], [2]),
    (LINE_START, ["text\n"], [0]),
    (LINE_START, ["some output\n", ">>> "], [0, 1]),
    (LINE_START, ["hello\n>>", "> "], [0, 1]),
    (LINE_START, ["line\n>>> ", "next line\n"], [1, 0]),
    (LINE_START, ["look: >>> mid-line"], [0]),
    (r"(^|\n)irb\(main\):\d+:\d+> ", ["irb(main):001:0> ", "=> 2\nirb(main):002:0> "], [1, 1]),
    ("^> $", [DRAWN], [1]),
    ("^> $", [NOT_DRAWN], [0]),
    ("^> $", [NOT_DRAWN, f"{E}[m> "], [0, 1]),
    ("^> $", [f"{E}[m> \n"], [1]),
    ("^> $", [f"{E}[38;5;15m> {E}[m"], [1]),
    ("λ> $", [f"{E}[mλ> \n"], [1]),
    ("^> $", [f"\r\n>{E}[1C"], [1]),
    ("^> $", [f"\r\n>{E}[C"], [1]),
    ("^>   $", [f"\r\n>{E}[3C"], [1]),
    ("^> $", [f"{E}]0;title\x07> "], [1]),
    ("^> $", [f"{E}]0;title{E}\\> "], [1]),
    ("^> $", [f"{E}]0;jdb\x07{E}[?25h> "], [1]),
    ("^> $", [f"\r{E}[K> \r{E}[2C"], [1]),
    ("^jshell> $", ["jshell>  \b"], [1]),
    (r"^  DB<+\d+>+ $", [f"{E}[4m\0\0  DB<1> {E}[24m{E}[1m"], [1]),
]


@pytest.mark.parametrize(("pattern", "chunks", "counts"), FOUND)
def test_prompts_are_found_once(pattern: str, chunks: list[str], counts: list[int]) -> None:
    detector = PromptDetector(pattern)
    assert [len(detector.feed(chunk.encode())) for chunk in chunks] == counts


def test_p1_a_bare_carriage_return_begins_a_line() -> None:
    detector = PromptDetector("^> $")
    assert len(detector.feed(f"\n{E}[?2004l\r{E}[?2004h> ".encode())) == 1
    assert detector.at_end is not None


@pytest.mark.parametrize(
    ("pattern", "text", "start"),
    [
        (LINE_START, "hello\n>>> ", 6),
        (r"DB<\d+>", f"result{E}[4mDB<2>", 6),
        (r"DB<\d+>", f"result{E}[4m\r\n  DB<2>", 14),
        (">>>", f"output{E}[0m>>>", 10),
        (">", f"x{E}[1m{E}[31m>", 1),
        (">", f"x{E}[0;1;31m>", 10),
        ("^> $", "é\n> ", 3),
    ],
)
def test_p2_where_a_prompt_begins_is_an_absolute_offset_in_bytes(pattern: str, text: str, start: int) -> None:
    whole, bytewise = PromptDetector(pattern), PromptDetector(pattern)
    assert whole.feed(text.encode())[0].start == start
    found = [match for byte in text.encode() for match in bytewise.feed(bytes([byte]))]
    assert found[0].start == start


def test_a_prompt_ends_behind_what_has_no_width() -> None:
    assert PromptDetector("^> $").feed(DRAWN.encode())[0].end == len(DRAWN)


@pytest.mark.parametrize("text", ["> done", "> \nmore", "say > ", "> \n"])
def test_p3_what_has_something_behind_it_does_not_stand(text: str) -> None:
    detector = PromptDetector("^> $")
    detector.feed(text.encode())
    assert detector.at_end is None


def test_p3_a_prompt_that_goes_on_stands_no_longer() -> None:
    detector = PromptDetector("^> $")
    detector.feed(b"> ")
    assert detector.at_end is not None
    detector.feed(b"working\n")
    assert detector.at_end is None


def test_p8_behind_output_without_a_line_end_it_stands_only_loosely() -> None:
    detector = PromptDetector(r"^\(Pdb\) $")
    detector.feed(b"abc(Pdb) ")
    assert detector.at_end is None
    loose = detector.loose()
    assert loose is not None
    assert loose.start == 3


def test_groups_are_told() -> None:
    detector = PromptDetector(r"^iex\((?<counter>\d+)\)> $")
    match = detector.feed(b"iex(12)> ")[0]
    assert match.groups == {"1": "12", "counter": "12"}


def test_in_the_middle_of_a_line_nothing_starts() -> None:
    detector = PromptDetector("^> $", midline=True)
    assert detector.feed(b"> ") == []
    assert len(detector.feed(b"\n> ")) == 1


PIECES = st.sampled_from(
    [
        "> ",
        ">",
        " ",
        "\n",
        "\r\n",
        "\r",
        "text",
        f"{E}[m",
        f"{E}[?2004h",
        f"{E}[K",
        f"{E}[2C",
        "\b",
        f"{E}]0;t\x07",
        "é",
        "\0",
    ]
)


@given(st.lists(PIECES, max_size=20), st.data())
def test_any_split_into_reads_gives_the_same_prompt(pieces: list[str], data: st.DataObject) -> None:
    stream = "".join(pieces).encode()
    whole, split = PromptDetector("^> $"), PromptDetector("^> $")
    whole.feed(stream)
    rest = stream
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        split.feed(rest[:cut])
        rest = rest[cut:]
    seen = [None if each.at_end is None else each.at_end[:3] for each in (whole, split)]
    assert seen[0] == seen[1]


def test_the_view_leads_back_to_the_stream() -> None:
    text = f"a{E}[1mb{E}[3Cc\bd\r\ne"
    view = visible(text)
    assert view.text == "ab   d\ne"
    assert text[view.origin(view.text.index("d"))] == "d"
    assert text[view.origin(view.text.index("e"))] == "e"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?<n>\d+)", "12"),
        (r"(?'n'\d+)", "12"),
        (r"\e\[m", "\x1b[m"),
        (r"a\z", "a"),
        (r"a\Z", "a\n"),
        (r"^\u0001RIPPLE\u0001> $", "RIPPLE> "),
        (r"^\u0001RIPPLE\u0001> $", "\x01RIPPLE\x01> "),
        ("^\x01RIPPLE\x01> $", "RIPPLE> "),
        (r"\\z", "\\z"),
        (r"[[a]x", "[x"),
        (r"\p{L}+", "é"),
        (r"(?<=a)b", "ab"),
    ],
)
def test_patterns_written_for_dotnet_work(pattern: str, text: str) -> None:
    assert compiled(pattern).search(text), translated(pattern)


def test_a_literal_marker_is_matched_literally() -> None:
    assert compiled(marker_pattern("\x01R\x01(1)> ")).search("R(1)> ")
