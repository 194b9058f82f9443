"""Text of an agent on a terminal: it flows, breaks between words, and is torn by nothing that comes in between."""

from __future__ import annotations

import codecs
import errno
import io
import os
import pty
import re
import select
import subprocess
import sys
import termios
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from bridge.base import resources
from bridge.cli._flow import Flow, Page, rows_to_write
from bridge.cli._view import Screen
from tests.cli.terminal import Terminal
from tests.command import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Project

PARAGRAPH = (
    "The first thing that I looked at is how the loop reads its settings, because the failing test says that a "
    "value of the environment is lost on its way to the driver, and that can only happen in one of three places."
)
CODE = "def f(x):\n    if x:\n        return [1, 2,\n                3]\n\n    return None"
URL = "https://example.org/" + "a/long/path/" * 12 + "end.html"
CHINESE = "这是一个没有空格的段落,它应该在字符之间换行,而不是在屏幕的边缘之外消失。" * 3
COLOURED = (
    "\x1b[1;31mred words that go on for longer than a row of the terminal has cells, so that\x1b[0m it breaks"
)
WHOLE = "\n".join([PARAGRAPH, "", CODE, f"See {URL} for more.", CHINESE, "🚀 emoji 👍 " * 9, COLOURED, "Done."])


def by_hand(text: str, width: int) -> list[str]:
    """Words without colours, put into rows the slow way: a word that doesn't fit begins a row."""
    rows = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", text).split("\n"):
        row = ""
        for word in re.findall(r" *[^ ]+| +$", line):
            if cell_len(row + word) > width and row.strip():
                rows.append(row.rstrip(" "))
                word = word.lstrip(" ")
                row = ""
            row += word
        rows.append(row.rstrip(" "))
    return rows


def shown(text: str, width: int, *, size: int) -> Terminal:
    """What a terminal has after the text came in pieces of that size."""
    flow, terminal = Flow(colours=True), Terminal(width)
    for start in range(0, len(text), size):
        terminal.feed(rows_to_write(flow.add(text[start : start + size], width)))
    terminal.feed(flow.end())
    return terminal


# -- rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 80, 200])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_c9_lines_break_between_words(width: int, size: int) -> None:
    text = "\n".join([PARAGRAPH, "", CODE, PARAGRAPH, COLOURED, "Done."])
    assert shown(text, width, size=size).rows() == by_hand(text, width)


@pytest.mark.parametrize("width", [20, 80, 200])
def test_c9_a_word_that_is_longer_than_a_row_stays_one_word_for_whoever_copies_it(width: int) -> None:
    terminal = shown(f"See {URL} for more.", width, size=3)
    lines = ["".join(line) for line in terminal.lines]
    assert any(URL in line for line in lines), lines
    assert max(map(cell_len, terminal.rows())) <= width


@pytest.mark.parametrize(("text", "rows"), [
    ("日本語のテキスト", ["日本語のテ", "キスト"]),
    ("一二三四五。六", ["一二三四", "五。六"]),
    ("一二三四「五六」", ["一二三四", "「五六」"]),
    ("ab 日本語 cd", ["ab 日本語", "cd"]),
    ("🚀🎉👍🚀🎉👍", ["🚀🎉👍🚀🎉", "👍"]),
    ("e\u0301" * 11, ["e\u0301" * 10, "e\u0301"]),
])  # fmt: skip
def test_c9_wide_characters_break_anywhere_but_before_punctuation(text: str, rows: list[str]) -> None:
    assert shown(text, 10, size=1).rows() == rows


words = st.sampled_from(
    ["a", "word", "longer-words", "x" * 25, " ", "  ", "\n", "\n\n", "日本", "。", "👍", "\x1b[31m", "\x1b[0m",
     "\r\n", "\t", "e\u0301", "\x1b[2J", "\x1b]0;title\x07", "\x07", "\u202e", "(", "),"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(
    text=st.lists(words, max_size=40).map("".join),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=20),
    width=st.integers(10, 40),
)
def test_c9_where_the_pieces_end_makes_no_difference(text: str, sizes: list[int], width: int) -> None:
    whole, flow = Flow(colours=True), Flow(colours=True)
    expected = whole.add(text, width)
    found, rest = [], text
    for size in sizes:
        found += flow.add(rest[:size], width)
        rest = rest[size:]
    found += flow.add(rest, width)
    assert (found, flow.row) == (expected, whole.row)
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", row.text) for row in expected]
    assert all(cell_len(row) <= width for row in plain)
    assert all(each.isprintable() for row in plain for each in row)
    kept = re.sub(r"\x1b\[[0-9;]*[mJ]|\x1b\]0;title\x07|[ \t\r\n\x07\u202e]", "", text)
    assert "".join([*plain, re.sub(r"\x1b\[[0-9;]*m", "", whole.row)]).replace(" ", "") == kept


@pytest.mark.parametrize(("text", "row"), [
    ("a\x1b[2Jb", "ab"),
    ("a\x1b]8;;http://x\x1b\\b", "ab"),
    ("a\x1b[31mb", "a\x1b[31mb"),
    ("a\x1b7b\x1b(Bc", "abc"),
    ("a\x07b\x00c\x9bd", "a b c d"),
    ("50 %\r60 %", "50 % 60 %"),
    ("a\u202eb\u200bc", "abc"),
    ("\u00a0a\u3000b", "\u00a0a\u3000b"),
    ("👩\u200d💻", "👩\u200d💻"),
])  # fmt: skip
def test_c9_a_text_writes_and_colours_and_does_nothing_else_to_the_terminal(text: str, row: str) -> None:
    for size in (1, 2, 100):
        flow = Flow(colours=True)
        assert [flow.add(text[n : n + size], 80) for n in range(0, len(text), size)][-1] == []
        assert flow.row == row


def test_c9_colours_end_with_their_row_and_go_on_in_the_next() -> None:
    flow = Flow(colours=True)
    rows = flow.add("\x1b[31mone two three\nfour\x1b[0m five", 10)
    assert [row.text for row in rows] == ["\x1b[31mone two", "\x1b[31mthree"]
    assert rows_to_write(rows) == "\x1b[31mone two\x1b[0m\n\x1b[31mthree\x1b[0m\n"
    assert flow.row == "\x1b[31mfour\x1b[0m five"
    plain = Flow(colours=False)
    assert [row.text for row in plain.add("\x1b[31mone two three\n", 10)] == ["one two", "three"]


# -- on a terminal -------------------------------------------------------------------------------------------


@dataclass
class Pty:
    """A terminal and the stream that leads to it."""

    stream: TextIO
    master: int
    terminal: Terminal
    raw: str = ""
    decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))

    def resize(self, width: int) -> None:
        self.look()
        termios.tcsetwinsize(self.master, (50, width))
        self.terminal.width = width

    def look(self) -> str:
        """What is seen now."""
        os.write(self.stream.fileno(), b"\x1b[0;0m")  # the last thing that comes out
        while not self.raw.endswith("\x1b[0;0m"):
            self.raw += self.decoder.decode(os.read(self.master, 65536))
        self.terminal.feed(self.raw)
        self.raw = ""
        return self.terminal.text()


@contextmanager
def a_terminal(width: int) -> Iterator[Pty]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(master, (50, width))
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        yield Pty(stream, master, Terminal(width))
    os.close(master)


@pytest.mark.parametrize("width", [20, 80, 200])
def test_c9_a_page_shows_each_piece_at_once(width: int) -> None:
    with a_terminal(width) as there:
        page = Page(there.stream)
        for n in range(0, len(PARAGRAPH), 5):
            page.write(PARAGRAPH[n : n + 5])
            assert there.look() == "\n".join(by_hand(PARAGRAPH[: n + 5], width)).strip()
        page.end()
        page.end()
        there.stream.write("step\n")
        there.stream.flush()
        assert there.look() == "\n".join([*by_hand(PARAGRAPH, width), "step"])


@pytest.mark.parametrize(("first", "second"), [(80, 40), (40, 80), (80, 200), (200, 80), (80, 12)])
@pytest.mark.parametrize("kind", ["page", "screen"])
def test_c9_when_the_terminal_is_resized_nothing_is_lost_and_nothing_comes_twice(
    first: int, second: int, kind: str
) -> None:
    with a_terminal(first) as there:
        there.stream.write("before\n")
        if kind == "page":
            page = Page(there.stream)
            page.write(PARAGRAPH[:100])
            there.resize(second)
            page.write(PARAGRAPH[100:])
            page.end()
        else:
            with Screen(
                there.stream, lambda: ["iteration 1/1 · some time", "agent at work for some time"]
            ) as screen:
                screen.write(PARAGRAPH[:100])
                screen._over.set()  # between two ticks of its clock
                there.resize(second)
                screen.write(PARAGRAPH[100:])
                there.look()
        rows = there.look().split("\n")
        assert "".join(rows).replace(" ", "") == f"before{PARAGRAPH}".replace(" ", "")
        assert max(map(len, rows)) <= second
        # What was finished before is folded by the terminal, which knows no words.
        begun = len(" ".join(by_hand(PARAGRAPH[:100], first)[:-1]))
        rest = by_hand(PARAGRAPH[begun:].strip(), second)
        assert rows[-len(rest) :] == rest


def test_c9_lines_stay_below_the_text_and_a_step_comes_above_them() -> None:
    lines = ["first line", "x" * 100]
    with a_terminal(40) as there:
        with Screen(there.stream, lambda: lines) as screen:
            screen.write("some text ")
            bottom = f"first line\n{'x' * 38}…"
            assert there.look() == f"some text\n{bottom}"
            lines[0] = "other line"
            screen.refresh()
            screen.write("that goes on, and on to the next row")
            assert there.look() == f"some text that goes on, and on to the\nnext row\nother line\n{'x' * 38}…"
            with screen.above():
                there.stream.write("a step\n")
            assert there.look().startswith("some text that goes on, and on to the\nnext row\na step\nother line")
        assert there.look() == "some text that goes on, and on to the\nnext row\na step"


class Gone(io.StringIO):
    """A terminal whose window was closed."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


def test_a_terminal_that_is_gone_is_no_error() -> None:
    with Screen(Gone(), lambda: ["line"]) as screen:
        screen.write("text\n" * 10)
        with screen.above():
            pass


# -- run -----------------------------------------------------------------------------------------------------

SLOW = """
import json, sys, time
text = open({file!r}).read()
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s"}}), flush=True)
for start in range(0, len(text), 9):
    delta = {{"type": "content_block_delta", "delta": {{"type": "text_delta", "text": text[start : start + 9]}}}}
    print(json.dumps({{"type": "stream_event", "event": delta}}), flush=True)
    time.sleep(0.005)
print(json.dumps({{"type": "result", "subtype": "success", "result": text, "session_id": "s"}}), flush=True)
"""


@pytest.fixture(params=["bmalph", "plain", "stand-in"])
def slow(request: pytest.FixtureRequest, project: Project) -> list[str]:
    """A project whose CLI speaks slowly, in pieces; how its loop is started."""
    project.write("said.txt", WHOLE)
    project.write("slow.py", SLOW.format(file=str(project.folder / "said.txt")))
    project.cli("claude", f"exec {sys.executable} {project.folder}/slow.py")
    project.write(".ralph/PROMPT.md", "Do the next task.\n")
    project.repository()
    if request.param != "plain":
        project.write(".ralph/ralph_loop.sh", "#!/bin/bash\necho original\n", 0o755)
        project.write(
            ".ralph/drivers/claude-code.sh", (resources.shipped("drivers") / "claude-code.sh").read_text()
        )
    if request.param != "stand-in":
        return [*MAIN, "run", "--max-iterations", "1"]
    assert project.run("adopt").returncode == 0
    return ["bash", ".ralph/ralph_loop.sh", "--live", "--max-iterations", "1"]


# As often as it goes: what tore the text came with each of these.
OFTEN = {"RALPH_BRIDGE_POLL_SECONDS": "0.02", "RALPH_BRIDGE_PAUSE_SECONDS": "0"}


@pytest.mark.parametrize("width", [80, 200])
def test_c9_run_shows_text_that_fits_the_terminal_and_is_torn_by_nothing(
    project: Project, slow: list[str], width: int
) -> None:
    with a_terminal(width) as there:
        env = {**project.env, **OFTEN, "TERM": "xterm-256color"}
        stream = there.stream.fileno()
        with subprocess.Popen(
            slow, cwd=project.folder, env=env, stdin=stream, stdout=stream, stderr=stream
        ) as loop:
            reader = threading.Thread(target=_read_all, args=(there, loop))
            reader.start()
            assert loop.wait(60) in (0, 1)
            reader.join()
        seen = there.look()
    rows = shown(WHOLE, width, size=10_000).rows()
    assert f"\n{chr(10).join(rows).strip(chr(10))}\n" in seen, seen


def _read_all(there: Pty, loop: subprocess.Popen[bytes]) -> None:
    while loop.poll() is None:
        if select.select([there.master], [], [], 0.05)[0]:
            there.raw += there.decoder.decode(os.read(there.master, 65536))


def test_c9_elsewhere_every_byte_stays_as_it_is(project: Project, slow: list[str]) -> None:
    env = {**project.env, **OFTEN}
    done = subprocess.run(slow, cwd=project.folder, env=env, capture_output=True, check=False, timeout=60)
    assert done.stdout.rstrip(b"\n") == WHOLE.encode()
