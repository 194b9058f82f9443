"""``ralph-bridge watch`` on a terminal: keys, sizes, colours, and several loops at once."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.command import MAIN
from tests.examples import SETUPS, Project, project
from tests.machine import mostly_slow
from tests.terminal import ENTER, ESCAPE, INTERRUPT, UP, Terminal

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from tests.examples import MakeProject

    Start = Callable[[Project], subprocess.Popen[str]]

WORK = "echo new > new.txt; git add new.txt; git -c user.name=t -c user.email=t@example.org commit -qm work"


@pytest.fixture
def started() -> Iterator[Start]:
    """Start a loop whose agent is held in its last turn; loops that are left at the end of the test are ended."""
    loops: list[subprocess.Popen[str]] = []

    def start(each: Project) -> subprocess.Popen[str]:
        loops.append(each.loop())
        each.wait_until_up()
        return loops[-1]

    yield start
    for loop in loops:
        if loop.returncode is None:
            loop.terminate()
            loop.communicate(timeout=60)


def _watch(loops: Project, *words: str, size: tuple[int, int] = (24, 80), **env: str) -> Terminal:
    return Terminal([*MAIN, "watch", "--interval", "0.05", *words], cwd=loops.path, env=loops.env | env, size=size)


@pytest.mark.parametrize("kind", mostly_slow(SETUPS, 1))
def test_turns_text_log_and_diff_of_every_setup(kind: str, started: Start, make_project: MakeProject) -> None:
    loops = make_project(kind)
    loops.done_after(f"say 'The first turn.'; {WORK}", loops.held)
    loop = started(loops)
    # High enough for a log of all turns (ralph-loop's), whose end is shown: the second may have begun.
    with _watch(loops, size=(80, 100)) as terminal:
        turns = (r"\n 1 +\d\d:\d\d:\d\d .* success", r"\n 2 .* running", r"at work · turn 2 for")
        totals = (f"project · {kind}", "1 turn", "tokens")
        terminal.until(r"First words\. And more\.", *turns, *totals, "q Quit")
        terminal.press_until(UP + b"l", r"turn 1: \S+", r"The first turn\.")
        terminal.press(b"d")
        terminal.until(r"\n\+new|new\.txt +\| +1 \+")
        loops.let_go()
        loop.communicate(timeout=60)
        terminal.until("ended at .*: ")
        terminal.press(b"q")
        assert terminal.ended() == 0
    assert b"the loop has ended: turn" in terminal.raw or b"the loop has ended: loop" in terminal.raw


def test_a_size_of_any_kind_and_ctrl_c(started: Start, make_project: MakeProject) -> None:
    loops = make_project("plain")
    loops.done_after(loops.held)
    loop = started(loops)
    with _watch(loops) as terminal:
        terminal.until("First words", r"1 .* running")
        for rows, columns in ((10, 30), (40, 160), (24, 80)):
            terminal.resize(rows, columns)
            terminal.until("plain", "turn", "project")
        terminal.until("First words", r"1 .* running", "q Quit")
        terminal.press(INTERRUPT)
        assert terminal.ended() == 130
    assert b"no longer watching; the loop goes on" in terminal.raw
    assert loop.poll() is None
    loops.let_go()
    loop.communicate(timeout=60)
    assert loop.returncode == 0


def test_without_colour_nothing_is_coloured_and_the_chosen_turn_is_seen(
    started: Start, make_project: MakeProject
) -> None:
    loops = make_project("plain")
    loops.done_after(loops.held)
    loop = started(loops)
    with _watch(loops, NO_COLOR="1") as terminal:
        terminal.until("First words", r"1 .* running")
        cells = [cell for line in terminal.screen.buffer.values() for cell in line.values()]
        assert {cell.fg for cell in cells} | {cell.bg for cell in cells} == {"default"}
        (row,) = (number for number, line in enumerate(terminal.screen.display) if "running" in line)
        assert terminal.screen.buffer[row][1].reverse
        terminal.process.kill(signal.SIGTERM)
        assert terminal.ended() == 143
        assert b"\x1b[?1049l" in terminal.raw, "the terminal is as it was"
    loops.let_go()
    loop.communicate(timeout=60)


def test_a_signal_in_the_middle_of_a_frame_leaves_the_terminal_as_it_was(
    make_project: MakeProject,
) -> None:
    loops = make_project("plain")
    for moment in range(12):
        with _watch(loops, "--all") as terminal:
            terminal.until_raw(b"\x1b[?1049h")
            time.sleep(moment * 0.03)
            terminal.process.kill((signal.SIGTERM, signal.SIGQUIT)[moment % 2])
            assert terminal.ended() == (143, 131)[moment % 2]
            assert b"\x1b[?1049l" in terminal.raw
            assert "Traceback" not in terminal.text


def test_all_loops_of_this_machine(tmp_path: Path, started: Start, stack: ExitStack) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    two = [stack.enter_context(project(SETUPS[kind], tmp_path / kind)) for kind in ("plain", "wiggum")]
    running = []
    for loops in two:
        loops.env |= state
        loops.done_after(loops.held)
        running.append(started(loops))
    records = sorted((tmp_path / "state" / "ralph-bridge" / "loops").iterdir())
    assert len(records) == 2
    lines = two[0].run("watch", "--all", "--once").stdout.splitlines()
    assert [line.split(" · ")[0] for line in lines] == [str(loops.path) for loops in two]
    with _watch(two[0], "--all") as terminal:
        terminal.until("2 loops", r"plain/project +plain +1 .* at work", r"wiggum/project +wiggum +1 .* at work")
        terminal.press_until(ENTER, "project · plain", "First words", "esc All loops")
        terminal.press(ESCAPE)
        terminal.until("2 loops")
        two[1].let_go()
        running[1].communicate(timeout=60)
        terminal.until("1 loop ", r"plain/project")
        running[0].kill()
        running[0].communicate(timeout=60)
        terminal.until("0 loops")
        terminal.press(b"q")
        assert terminal.ended() == 0
    assert len(list((tmp_path / "state" / "ralph-bridge" / "loops").iterdir())) == 1, "of the one that was killed"
    done = two[0].run("watch", "--all")
    assert (done.returncode, "no loop is running on this machine" in done.stderr) == (1, True)
    assert two[1].run("wiggum", "start", "--no-live").returncode == 0
    assert list((tmp_path / "state" / "ralph-bridge" / "loops").iterdir()) == []
