"""From the terminal's bytes to what a command printed: echo, rendering, modes, shortening."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.adapters.cleaning import clean, echo_end, strip_deterministic, strip_fuzzy
from bridge.adapters.modes import ModeState, detect_mode, mode_at_prompt
from bridge.adapters.render import render, trimmed
from bridge.adapters.schema_model import AdapterFile, Mode, OutputSection
from bridge.cli._adapter_session import shortened

E = "\x1b"


@pytest.mark.parametrize(
    ("output", "sent", "left"),
    [
        ("echo hello\r\nhello\r\n", "echo hello", "hello\r\n"),
        ("echo hello\nhello\n", "echo hello", "hello\n"),
        ("set\nVAR1=a\nVAR2=b\n", "set", "VAR1=a\nVAR2=b\n"),
        ("echo hello world\n hello world\n", "echo hello world", " hello world\n"),
        ("dir /b *.cs\n*.csproj\nProgram.cs\n", "dir /b *.cs", "*.csproj\nProgram.cs\n"),
        ("echo abc def\nghi\n", "echo abc defghi", ""),
        ("real output", "echo no match", "real output"),
        ("", "x", ""),
        ("hello", "", "hello"),
        ("abc\ndefXYZ", "abcdef", "XYZ"),
        ("totally unrelated output\n", ". 'tmp.ps1'", "totally unrelated output\n"),
        ("real output\n", "\r", "real output\n"),
    ],
)
def test_the_echo_is_taken_off(output: str, sent: str, left: str) -> None:
    assert strip_deterministic(output, sent) == left
    assert strip_fuzzy(output, sent) == left


def test_a_prompt_that_is_drawn_again_goes_with_the_echo() -> None:
    assert strip_fuzzy(f"\r{E}[Kdb> {E}[32mselect{E}[m 1;\r\n1\r\n", "select 1;", prompt="^db> $") == "1\r\n"


def test_echo_is_followed_in_the_raw_stream_and_drafts_are_not_taken_for_it() -> None:
    raw = f"sel{E}[1mect{E}[m 1;\r\n{E}[?2004l\r\n1\r\n"
    assert raw[echo_end(raw, "select 1;") :] == "\n1\r\n"
    assert echo_end(f"\r{E}[K> x\r{E}[3C\r{E}[K> x\r{E}[3C\r\n3\r\n", "x", prompt="^> $") is None


DETERMINISTIC = AdapterFile(output=OutputSection(input_echo_strategy="deterministic_byte_match"))


@pytest.mark.parametrize(
    ("window", "sent", "output"),
    [
        (b"1+1\r\n2\r\n", "1+1", "2"),
        (b"1+1 \r\n2\r\n", "1+1 ", "2"),
        (b"print('a\tb')\r\na\tb\r\n", "print('a\tb')", "a\tb"),
        (f"\r{E}[K> x\r{E}[3C\r{E}[K> x\r{E}[3C{E}[?2004l\r\n3\r\n".encode(), "x", "3"),
        (b"}\b        }\r\n|  done\r\n", "}", "|  done"),
        (f"}}{E}[2A{E}[3C\r\r\n\r\n{E}[8C{E}[K}}\r\r\n{E}[?2004l|  done\r\n".encode(), "}", "|  done"),
        (b"x = 1\r\n", "x = 1", ""),
        (b"print('\\xff')\r\n\xff\r\n", "print('\\xff')", "\udcff"),
    ],
)
def test_what_a_command_printed(window: bytes, sent: str, output: str) -> None:
    assert clean(DETERMINISTIC, window, sent, exact=False, prompt="^> $") == output


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Progress 10%\rProgress 20%\rProgress 30%\ndone\n", "Progress 30%\ndone"),
        (f"Building...\n0%\n{E}[1A{E}[K10%\n{E}[1A{E}[K100%\n", "Building...\n100%"),
        ("Working |\b/\b-\b\\\bdone\n", "Working done"),
        (f"hello world{E}[1GHEY", "HEYlo world"),
        (f"{E}[31mred", f"{E}[31mred{E}[0m"),
        (
            f"before vim\n{E}[?1049hxx{E}[?1049lback to shell",
            "before vim\n[interactive screen session]\nback to shell",
        ),
        ("a\tb", "a\tb"),
        ("\r\n\r\nmiddle\r\n\r\n", "middle"),
        ("one\r\r\ntwo\r\n", "one\ntwo"),
        (">> not a prompt\n", ">> not a prompt"),
        (f"{E}]8;;http://x{E}\\text{E}]8;;{E}\\", "text<http://x>"),
        (f"abc{E}[2D{E}[P", "ac"),
        (f"one\ntwo{E}[2J{E}[Hthree", "three"),
    ],
)
def test_a_terminal_would_show(text: str, seen: str) -> None:
    assert trimmed(render(text)) == seen


@given(st.text(alphabet="ab \n\r\b\t\x1b[0123;mKHJ"))
def test_anything_can_be_rendered(text: str) -> None:
    render(text)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_plain_lines_stay_as_they_are(text: str) -> None:
    assert render(text.replace("\n", "\r\n")) == text.rstrip(" ") or render(text) == text


def test_long_output_keeps_all_its_lines() -> None:
    lines = [f"line {number}" for number in range(150_000)]
    assert render("\r\n".join(lines)).split("\n") == lines


MAIN = Mode(name="main", primary="^>>> $", default=True)
PDB = Mode(name="pdb", primary=r"^\(Pdb\) $", auto_enter=True)
PRY = Mode(name="pry", primary="^pry> $", auto_enter=True)
LISP = (
    Mode(name="main", primary=r"^\* $", default=True),
    Mode(name="debugger", primary=r"^(\d+)\] $", auto_enter=True, nested=True, level_capture="1"),
)


@pytest.mark.parametrize(
    ("modes", "text", "state"),
    [
        ((), "anything", (None, None)),
        ((MAIN,), "unrelated", ("main", None)),
        ((MAIN, PDB), ">>> ", ("main", None)),
        ((MAIN, PDB), "out\n(Pdb) ", ("pdb", None)),
        ((MAIN, PDB), "(Pdb) \n>>> ", ("pdb", None)),
        ((MAIN, PDB), "no prompt here", ("main", None)),
        (LISP, "0] ", ("debugger", 0)),
        (LISP, "2] ", ("debugger", 2)),
        (LISP, "* ", ("main", None)),
        ((MAIN, PRY, PDB), "pry> ", ("pry", None)),
        ((MAIN, PRY, PDB), "(Pdb) ", ("pdb", None)),
        ((MAIN, Mode(name="broken", primary="[unclosed", auto_enter=True)), "x", ("main", None)),
        ((Mode(name="alpha"), Mode(name="beta")), "x", ("alpha", None)),
    ],
)
def test_modes(modes: tuple[Mode, ...], text: str, state: tuple[str | None, int | None]) -> None:
    assert detect_mode(modes, text) == ModeState(*state)


def test_the_last_prompt_line_comes_before_what_was_printed() -> None:
    assert mode_at_prompt((MAIN, PDB), ">>> ", "(Pdb) \n") == ModeState("main")
    assert mode_at_prompt(
        (MAIN, Mode(name="pry", detect="^Break reached", auto_enter=True)), "?", "Break reached: 1"
    ) == (ModeState("pry"))


def test_long_output_is_cut_at_line_ends_and_kept_in_a_file(tmp_path: object) -> None:
    text = "".join(f"line {number}\n" for number in range(5_000))
    head, gap, tail = shortened(text, folder=str(tmp_path)).split("\n\n")
    assert text.startswith(head + "\n")
    assert text.endswith("\n" + tail)
    count, path = re.fullmatch(r"\[(\d+) characters left out; everything is in (.*)\]", gap).groups()  # type: ignore[union-attr]
    assert len(head) + len(tail) + int(count) + 1 == len(text)
    with open(path) as file:
        assert file.read() == text
    assert shortened("x" * 15_000) == "x" * 15_000
