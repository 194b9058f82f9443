"""What every loop promises, seen from this one: limits, signals, kills, locks, deadlines, other commands."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.loop.engine.events import IterationEnded, LoopEnded
from bridge.loop.loops import Loop
from tests.examples import lives, until
from tests.setups.snarktank.conftest import CLAUDE_ONLY, DONE, Ralph, make

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
HANGS = 'echo x > "$call/hangs"; exec sleep 300'


@pytest.fixture
def claude(ralph: Ralph) -> Ralph:
    """With a script that calls claude, which says when a limit ends."""
    ralph.write("scripts/ralph/ralph.sh", CLAUDE_ONLY, 0o755)
    return ralph


def hanging(ralph: Ralph, *words: str, turn: int = 1) -> subprocess.Popen[str]:
    loop = ralph.start("run", *words)
    until(lambda: (ralph.folder.parent / f"calls/{turn}/hangs").exists(), "the turn hangs")
    return loop


def pid(ralph: Ralph, turn: int) -> int:
    return int((ralph.folder.parent / f"calls/{turn}/pid").read_text())


def test_a_limit_is_waited_out_and_not_counted(claude: Ralph) -> None:
    claude.turns("say on", "limited 1", "limited 1", f"say '{DONE}'")
    done = claude.run("run", "--max-iterations", "2")
    assert (done.returncode, len(claude.calls())) == (0, 4), done.stderr
    assert "complete after 2 iterations" in done.stderr


def test_what_an_assistant_says_about_limits_is_no_limit(claude: Ralph) -> None:
    claude.turns('say "You hit your usage limit, says the page. Try again at 5 pm."')
    assert (claude.run("run", "--max-iterations", "2").returncode, len(claude.calls())) == (1, 2)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_ctrl_c_and_its_like_end_the_turn_and_the_loop(ralph: Ralph, number: int, status: int) -> None:
    ralph.turns("say on", HANGS)
    loop = hanging(ralph, turn=2)
    loop.send_signal(number)
    _, told = loop.communicate(timeout=60)
    assert (loop.returncode, lives(pid(ralph, 2)), "Traceback" in told) == (status, False, False), told
    assert len(ralph.calls()) == 2
    assert ralph.status()["state"] == "ended"


def test_killed_and_started_again(ralph: Ralph) -> None:
    ralph.turns("passes US-001; say on", HANGS)
    loop = hanging(ralph, turn=2)
    loop.kill()
    loop.communicate()
    until(lambda: not lives(pid(ralph, 2)), "the agent ends")
    assert ralph.status()["state"] == "killed"
    ralph.turns(otherwise=f"passes US-002; say '{DONE}'")
    done = ralph.run("run", "--max-iterations", "3")
    assert (done.returncode, len(ralph.calls())) == (0, 3), done.stderr
    assert "next: US-002 do US-002" in done.stderr


def test_two_loops_at_once(ralph: Ralph) -> None:
    ralph.turns(otherwise=HANGS)
    loop = hanging(ralph)
    ralph.run("adopt")
    try:
        for words in (
            ["run"],
            ["run", "--driver", "claude-code"],
            ["wiggum", "start", "--fresh", "Do it."],
        ):
            told = ralph.raw(*words).stderr.decode()
            assert f"process {loop.pid}" in told, (words, told)
        second = subprocess.run(
            ["scripts/ralph/ralph.sh", "1"],
            cwd=ralph.folder,
            env=ralph.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (second.returncode, f"process {loop.pid}" in second.stderr) == (4, True)
        assert ralph.run("reset").returncode == 4
        assert len(ralph.calls()) == 1
    finally:
        loop.terminate()
        loop.communicate(timeout=60)


def test_a_turn_has_a_deadline(ralph: Ralph) -> None:
    ralph.turns("exec sleep 300", f"say '{DONE}'")
    done = ralph.run("run", "--timeout", "0.02", "--max-iterations", "3")
    assert (done.returncode, len(ralph.calls()), lives(pid(ralph, 1))) == (0, 2, False), done.stderr
    assert "1.2 s per turn" in done.stderr


def test_what_a_turn_leaves_running_is_ended(ralph: Ralph) -> None:
    ralph.turns(
        'setsid bash -c "echo \\$\\$ > $call/left; exec sleep 300" & until [ -s "$call/left" ]; do :; done; say on'
    )
    done = ralph.run("run", "--max-iterations", "1")
    assert done.returncode == 1
    assert not lives(int((ralph.folder.parent / "calls/1/left").read_text()))


def test_minutes_and_costs(claude: Ralph) -> None:
    done = claude.run("run", "--max-cost", "0.4")
    assert (done.returncode, len(claude.calls()), "(max_cost)" in done.stderr) == (1, 2, True), done.stderr
    claude.turns(otherwise="exec sleep 300")
    done = claude.run("run", "--max-minutes", "0.02")
    assert (done.returncode, len(claude.calls()), "(max_minutes)" in done.stderr) == (1, 3, True), done.stderr


def test_without_git(ralph: Ralph) -> None:
    shutil.rmtree(ralph.folder / ".git")
    ralph.turns("say on", f"say '{DONE}'")
    done = ralph.run("run")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr


def test_a_folder_that_may_only_be_read(ralph: Ralph) -> None:
    ralph.write("work.txt", "\n", 0o666)
    for folder in (ralph.home, ralph.folder):
        folder.chmod(0o555)
    try:
        done = ralph.raw("run", "--max-iterations", "1", limited=True)
        told = done.stderr.decode()
        assert (done.returncode, "next: " in told, ralph.calls()) == (4, True, []), told
        assert ralph.raw("status", limited=True).returncode == 0
    finally:
        for folder in (ralph.home, ralph.folder):
            folder.chmod(0o755)


def test_blanks_and_unicode_in_the_path(tmp_path: Path) -> None:
    ralph = make(tmp_path / "a b's ü" / "-x $HOME")
    ralph.turns("say on", f"say '{DONE}'")
    done = ralph.run("run")
    assert (done.returncode, [each.cwd for each in ralph.calls()]) == (0, [str(ralph.folder)] * 2), done.stderr
    assert ralph.run("run", "--max-iterations", "1", "--driver", "claude-code").returncode == 1


def test_an_agent_that_changes_nothing_and_only_keeps_notes(ralph: Ralph) -> None:
    ralph.turns(otherwise="rm work.txt; echo learned >> $home/progress.txt; say 'Which one?'")
    done = ralph.run("run", "--max-idle", "5")
    assert (done.returncode, len(ralph.calls())) == (1, 5), done.stderr
    assert '5 turns in a row changed nothing; the assistant asks: "Which one?"' in done.stderr.splitlines()[-1]


def test_a_folder_of_state_that_the_loop_makes_is_passed_over_by_git(ralph: Ralph) -> None:
    (ralph.folder / ".gitignore").unlink()
    ralph.run("run", "--max-iterations", "1")
    words = ["git", "status", "--porcelain", "--untracked-files=all"]
    assert (
        ".ralph" not in subprocess.run(words, cwd=ralph.folder, capture_output=True, text=True, check=True).stdout
    )


def test_other_commands(ralph: Ralph) -> None:
    ralph.run("run", "--max-iterations", "2")
    assert ralph.run("reset").returncode == 0
    assert "tasks         0 of 2 done" in ralph.run("report").stdout
    assert "next task:    US-001 do US-001" in ralph.run("watch", "--once").stdout
    words = {
        "_RALPH_BRIDGE_COMPLETE": "bash_complete",
        "COMP_WORDS": "ralph-bridge run --setup s",
        "COMP_CWORD": "3",
    }
    assert "snarktank" in ralph.run(**words).stdout


@pytest.mark.parametrize("words", [["--tasks", "x"], ["--calls", "5"], ["--process"], ["--strict-compat"]])
def test_options_of_other_kinds_are_refused(ralph: Ralph, words: list[str]) -> None:
    told = ralph.refused("run", *words)
    assert "snarktank" in told
    assert ralph.calls() == []


def test_from_python(ralph: Ralph, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ralph.env.items():
        monkeypatch.setenv(name, value)
    ralph.turns("passes US-001; say on", f"say '{DONE}'")
    with Loop.open(ralph.folder, setup="snarktank", max_iterations=5) as loop:
        events = [*loop]
    assert sum(isinstance(each, IterationEnded) for each in events) == 2
    end = events[-1]
    assert isinstance(end, LoopEnded)
    assert (end.iterations, end.reason) == (2, "script_ended")
    assert "1 of 2 stories is open" in end.detail
    assert os.listdir(ralph.home) != []
