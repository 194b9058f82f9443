"""What runs parts of the checks at the same time: no failure of one is lost, and nothing outlives it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.examples import lives, until

PROGRAM = str(Path(__file__).parents[1] / ".ci" / "side_by_side")


def side_by_side(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60)


def test_each_output_in_one_piece_and_the_arguments_as_they_are() -> None:
    done = side_by_side("printf 'a\\nb\\n'", "echo c; echo d >&2", "--", "printf", "%s|", "-k", "x or  'y'")
    assert done.stdout == "-k|x or  'y'|\n── printf 'a\\nb\\n'\na\nb\n\n── echo c; echo d >&2\nc\nd\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_alone() -> None:
    assert side_by_side("--", "echo", "one").stdout == "one\n"


@pytest.mark.parametrize("failing", [(0,), (1,), (2,), (0, 2)])
def test_whichever_fails_is_named(failing: tuple[int, ...]) -> None:
    commands = [f"echo {number}; exit {number + 3 if number in failing else 0}" for number in range(3)]
    done = side_by_side(*commands[:2], "--", "bash", "-c", commands[2])
    assert done.returncode == 1
    assert [f"\n{number}\n" in f"\n{done.stdout}" for number in range(3)] == [True] * 3
    assert done.stderr.count("failed:") == len(failing)
    assert all(f"{commands[number]}\n" in done.stderr for number in failing)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_what_it_has_started_ends_with_it(number: signal.Signals, tmp_path: Path) -> None:
    waits = "echo $$ > {0}/{1}.new; mv {0}/{1}.new {0}/{1}; exec sleep 300"
    process = subprocess.Popen(
        [PROGRAM, waits.format(tmp_path, 0), "--", "bash", "-c", waits.format(tmp_path, 1)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: all((tmp_path / name).exists() for name in "01"))
        process.send_signal(number)
        assert process.wait(30) == 130
    finally:
        process.kill()
    assert [name for name in "01" if lives(int((tmp_path / name).read_text()))] == []
