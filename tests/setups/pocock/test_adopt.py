"""Which folder is one of Pocock's, which of its scripts is meant; its stand-in, and the way back."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups import detect
from tests.setups.pocock.conftest import BOXES, FORMS, PRD, make

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.snarktank.conftest import Ralph

OWN, FEEDS = FORMS["plans"].text, "#!/bin/bash\nclaude --print < prompt.md\n"
ONCE = '#!/bin/bash\n\nclaude --permission-mode acceptEdits "@PRD.md Do the next task with me."\n'


def call(ralph: Ralph, script: str, *words: str, cwd: str = ".") -> subprocess.CompletedProcess[str]:
    command = [os.path.relpath(ralph.folder / script, ralph.folder / cwd), *words]
    command[0] = command[0] if "/" in command[0] else f"./{command[0]}"
    folder = ralph.folder / cwd
    return subprocess.run(command, cwd=folder, env=ralph.env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"plans/ralph.sh": OWN, "plans/prd.json": PRD}, "pocock plans/ralph.sh"),
        ({"afk-ralph.sh": OWN, "ralph-once.sh": ONCE, "PRD.md": BOXES}, "pocock afk-ralph.sh"),
        ({"ralph/once.sh": ONCE, "ralph/afk.sh": OWN, "plans/ralph.sh": OWN}, "pocock ralph/afk.sh"),
        ({"ralph-once.sh": ONCE}, "pocock ralph-once.sh"),
        ({"ralph-once.sh": ONCE, "ralph-loop.sh": OWN}, "script ralph-loop.sh"),
        ({"ralph-once.sh": ONCE, "scripts/loop.sh": OWN, "PRD.md": BOXES}, "script scripts/loop.sh"),
        ({"ralph.sh": OWN, "PRD.md": BOXES}, "pocock ralph.sh"),
        ({"ralph.sh": OWN, "prd.json": PRD}, "pocock ralph.sh"),
        ({"ralph.sh": OWN, "ralph-once.sh": ONCE}, "pocock ralph.sh"),
        ({"ralph.sh": OWN}, "script ralph.sh"),
        ({"ralph.sh": FEEDS, "prompt.md": "x", "prd.json": PRD}, "snarktank ralph.sh"),
        ({"ralph.sh": FEEDS, "prompt.md": "x", "PRD.md": BOXES}, "snarktank ralph.sh"),
        ({"scripts/ralph/ralph.sh": OWN, "scripts/ralph/prd.json": PRD, "afk-ralph.sh": OWN}, "snarktank ralph.sh"),
        ({"afk-ralph.sh": "#!/bin/bash\n./other.sh\n", "PRD.md": BOXES}, "pocock afk-ralph.sh"),
        ({"afk-ralph.sh": "#!/bin/bash\n./other.sh\n", "PRD.md": BOXES, "PROMPT.md": "x"}, ""),
        ({"afk-ralph.sh": "#!/bin/bash\n./other.sh\n"}, ""),
    ],
)  # fmt: skip
def test_which_setup_a_folder_is(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [f"{each.name} {os.path.relpath(each.controller, each.home)}" for each in detect(tmp_path)]
    assert found == [expected] * bool(expected)


def test_a_script_whose_calls_nobody_sees_is_run(ralph: Ralph) -> None:
    ralph.write("engine", '#!/bin/bash\nclaude -p "Do it."\n', 0o755)
    ralph.write("plans/ralph.sh", "#!/bin/bash\n./engine\n")
    done = ralph.run("run", "--max-iterations", "1")
    assert (done.returncode, len(ralph.calls()), "[1/1] done in " in done.stderr) == (0, 1, True), done.stderr


def test_its_stand_in_takes_the_scripts_words(ralph: Ralph) -> None:
    path = ralph.folder / "plans/ralph.sh"
    before = (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
    assert ralph.run("adopt").returncode == 0
    for words in ([], [""]):
        done = call(ralph, "plans/ralph.sh", *words)
        assert (done.returncode, "<iterations>" in done.stdout) == (1, True), words
    assert call(ralph, "plans/ralph.sh", "0").returncode == 0
    assert ralph.calls() == []
    done = call(ralph, "plans/ralph.sh", "2", "more")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert ralph.run("run", "--max-iterations", "1").returncode == 0
    assert len({(tuple(each.argv), each.cwd) for each in ralph.calls()}) == 1, "the call is the original's"
    assert ralph.run("eject").returncode == 0
    assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) == before
    assert sorted(os.listdir(ralph.folder / "plans")) == ["prd.json", "ralph.sh"]


def test_one_that_an_earlier_version_has_adopted(ralph: Ralph) -> None:
    """It says which kind it stands in for, and nothing else of how that is run."""
    ralph.run("adopt")
    text = (ralph.folder / "plans/ralph.sh").read_text()
    assert "stand-in pocock" in text
    assert call(ralph, "plans/ralph.sh", "1").returncode == 0
    assert len(ralph.calls()) == 1


def test_the_promise_through_the_stand_in(tmp_path: Path) -> None:
    ralph = make(tmp_path / "project", "stream")
    ralph.turns(otherwise=f"say '{FORMS['stream'].promise}'")
    ralph.run("adopt")
    done = call(ralph, "ralph/afk.sh", "5")
    assert (done.returncode, len(ralph.calls())) == (0, 1), done.stderr


def test_a_script_for_one_session_is_run_as_it_is(ralph: Ralph) -> None:
    (ralph.folder / "plans/ralph.sh").unlink()
    path = ralph.write("ralph-once.sh", ONCE, 0o755)
    done = ralph.run("run", "--max-iterations", "2")
    assert "note: ralph-once.sh starts one session for a person" in done.stderr
    assert ralph.run("adopt").returncode == 0
    assert call(ralph, "ralph-once.sh").returncode == 0
    assert ralph.run("eject").returncode == 0
    assert (path.read_text(), (ralph.folder / "ralph-once.sh.original").exists()) == (ONCE, False)
    once, adopted = ralph.calls()
    assert once == adopted
    assert once.argv[1:] == ["--permission-mode", "acceptEdits", "@PRD.md Do the next task with me."]


def test_the_script_for_one_session_beside_a_loop_is_left_alone(tmp_path: Path) -> None:
    ralph = make(tmp_path / "project", "afk")
    path = ralph.write("ralph-once.sh", ONCE, 0o755)
    ralph.run("adopt")
    assert path.read_text() == ONCE
    assert (ralph.folder / "afk-ralph.sh.original").read_text() == FORMS["afk"].text
