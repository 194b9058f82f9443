"""Announcements and questions are taken out of the stream, whatever the reads are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.adapters.escapes import LONGEST, Announcement, Announcements, Questions


def parsed(*chunks: bytes, nonce: str = "") -> tuple[bytes, list[Announcement]]:
    parser = Announcements(nonce=nonce)
    found = [parser.feed(chunk) for chunk in chunks]
    return b"".join(clean for clean, _ in found), [mark for _, marks in found for mark in marks]


def mark(payload: str) -> bytes:
    return b"\x1b]633;" + payload.encode() + b"\x07"


def test_marks_have_the_offset_of_the_clean_text() -> None:
    clean, marks = parsed(b"hello world" + mark("A") + b"more text")
    assert clean == b"hello worldmore text"
    assert marks == [Announcement("A", 11)]


@pytest.mark.parametrize(
    ("payload", "status"), [("D;42", 42), ("D", 0), ("D;", 0), ("D;x", 0), ("D;-1", -1), ("D;3;4", 3)]
)
def test_exit_codes(payload: str, status: int) -> None:
    assert parsed(mark(payload))[1][0].status == status


def test_the_order_is_kept() -> None:
    _, marks = parsed(mark("D;0") + mark("P;Cwd=C:\\Users") + mark("A"))
    assert [(each.code, each.key, each.value) for each in marks] == [
        ("D", "", ""),
        ("P", "Cwd", "C:\\Users"),
        ("A", "", ""),
    ]


def test_a_mark_in_two_reads() -> None:
    parser = Announcements()
    assert parser.feed(b"output \x1b]633;") == (b"output ", [])
    assert parser.feed(b"D;1\x07after") == (b"after", [Announcement("D", 7, status=1)])


def test_both_ends_are_known() -> None:
    assert [each.code for each in parsed(b"\x1b]633;C\x1b\\")[1]] == ["C"]


def test_unknown_codes_are_removed_and_mean_nothing() -> None:
    assert parsed(b"a" + mark("Z;unknown") + b"b") == (b"ab", [])


def test_a_long_folder_is_read_and_an_endless_sequence_is_text() -> None:
    folder = "/" + "x" * 16_000
    assert parsed(mark(f"P;Cwd={folder}"))[1][0].value == folder
    clean, marks = parsed(b"\x1b]633;" + b"y" * (LONGEST + 50_000), mark("A"))
    assert len(clean) > LONGEST
    assert [each.code for each in marks] == ["A"]


def test_p14_only_the_nonce_makes_it_genuine() -> None:
    spoofed = mark("D;0") + mark("A") + mark("A;wrong")
    assert parsed(spoofed + mark("D;7;secret"), nonce="secret") == (b"", [Announcement("D", 0, status=7)])
    assert parsed(mark("P;Cwd=/a;b;secret"), nonce="secret")[1][0].value == "/a;b"


STREAM = (
    b"text \x1b[1m\x1b]0;title\x07"
    + mark("D;3")
    + b"\x1b"
    + mark("P;Cwd=/tmp")
    + mark("A")
    + b"\x1b]63\x1b]633;B\x1b\\ end"
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_split_into_reads_gives_the_same_marks(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in pairwise(edges)]
    assert parsed(*chunks) == parsed(STREAM)


@pytest.mark.parametrize(
    ("chunks", "clean", "answers"),
    [
        ([b"a\x1b[6n>b"], b"a>b", 1),
        ([b"\x1b[6n\x1b[6n"], b"", 2),
        ([b"\x1b", b"[6n"], b"", 1),
        ([b"\x1b[", b"6n"], b"", 1),
        ([b"\x1b[6", b"n"], b"", 1),
        ([b"\x1b", b"[6", b"n"], b"", 1),
        ([b"\x1b[6", b"XYZ"], b"\x1b[6XYZ", 0),
        ([b"\x1b[K"], b"\x1b[K", 0),
    ],
)
def test_the_cursor_is_told_exactly_once(chunks: list[bytes], clean: bytes, answers: int) -> None:
    asked = Questions()
    found = [asked.feed(chunk) for chunk in chunks]
    assert b"".join(text for text, _ in found) == clean
    assert b"".join(answer for _, answer in found).count(b"R") == answers


def test_the_column_is_that_of_the_current_line() -> None:
    asked = Questions()
    asked.feed("line\r\n\x1b[31mé> ".encode())
    assert asked.feed(b"\x1b[6n")[1] == b"\x1b[1;4R"


@pytest.mark.parametrize(
    "question",
    [
        b"\x1b[c",
        b"\x1b[0c",
        b"\x1b[>c",
        b"\x1b[5n",
        b"\x1b]11;?\x07",
        b"\x1b]10;?\x1b\\",
        b"\x1b[>q",
        b"\x1b[?2026$p",
    ],
)
def test_other_questions_are_answered_too(question: bytes) -> None:
    clean, answer = Questions().feed(b"a" + question + b"b")
    assert clean == b"ab"
    assert answer.startswith(b"\x1b")


QUESTIONS = b"a\x1b[6nb\x1b[c\x1b[K\x1b]11;?\x1b\\c\x1b]633;A\x07\x1b[?2004h> "


@given(st.lists(st.integers(0, len(QUESTIONS)), max_size=12))
def test_any_split_into_reads_gives_the_same_answers(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(QUESTIONS)]
    asked = Questions()
    found = [asked.feed(QUESTIONS[start:end]) for start, end in pairwise(edges)]
    assert (b"".join(text for text, _ in found), b"".join(answer for _, answer in found)) == Questions().feed(
        QUESTIONS
    )
