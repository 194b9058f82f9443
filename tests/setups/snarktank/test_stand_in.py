"""`adopt` and `eject`: people go on calling ``scripts/ralph/ralph.sh``."""

from __future__ import annotations

import subprocess

import pytest

from tests.setups.snarktank.conftest import DONE, SCRIPT, Ralph


def call(ralph: Ralph, command: str, cwd: str = ".") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, shell=True, cwd=ralph.folder / cwd, env=ralph.env, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("data", [SCRIPT.encode(), b"#!/bin/bash\r\nclaude -p < CLAUDE.md\r\n# \xff no newline"])
@pytest.mark.parametrize("mode", [0o755, 0o644, 0o710])
def test_adopt_and_eject_restore_byte_for_byte(ralph: Ralph, data: bytes, mode: int) -> None:
    (ralph.home / "ralph.sh").write_bytes(data)
    (ralph.home / "ralph.sh").chmod(mode)
    before = ralph.files()
    assert ralph.run("adopt").returncode == 0
    assert ralph.status()["setup"] == "snarktank"
    ralph.run("run", "--max-iterations", "1")
    for name in ("progress.txt", ".last-branch"):
        (ralph.home / name).unlink(missing_ok=True)
    assert "already" in ralph.run("adopt").stdout
    assert ralph.run("eject").returncode == 0
    assert ralph.files() == before
    assert "nothing to undo" in ralph.run("eject").stdout


def test_the_stand_in_runs_what_the_original_would(ralph: Ralph) -> None:
    ralph.run("adopt")
    done = call(ralph, "scripts/ralph/ralph.sh 3 --tool claude")
    assert done.returncode == 1, done.stderr
    assert [each.argv[0] for each in ralph.calls()] == ["claude"] * 3
    assert done.stderr.splitlines()[-1].startswith("incomplete after 3 iterations")


@pytest.mark.parametrize("words", ["--tool codex", "--tool=", "--tool ''", "--tool", "3 --tool nonsense"])
def test_a_tool_that_the_script_does_not_call(ralph: Ralph, words: str) -> None:
    ralph.run("adopt")
    before = ralph.files()
    done = call(ralph, f"scripts/ralph/ralph.sh {words}")
    assert (done.returncode, ralph.calls()) == (1, [])
    assert words == "--tool" or "Error: Invalid tool" in done.stdout
    assert ralph.files() == before


def test_a_tool_that_a_forks_script_calls(ralph: Ralph) -> None:
    fork = SCRIPT.replace("amp | claude)", "amp | claude | opencode)")
    begins = '  if [[ "$TOOL" == "amp" ]]'
    fork = fork.replace(begins, f'  [[ $TOOL != opencode ]] || opencode run < "$HERE/prompt.md"\n{begins}')
    ralph.write("scripts/ralph/ralph.sh", fork, 0o755)
    ralph.run("adopt")
    call(ralph, "scripts/ralph/ralph.sh 1 --tool opencode")
    call(ralph, "scripts/ralph/ralph.sh 1")
    assert [each.argv[0] for each in ralph.calls()] == ["opencode", "claude", "amp"]


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("./ralph.sh 1", "scripts/ralph"),
        ("bash ../scripts/ralph/ralph.sh 1", "src"),
        ("../link.sh 1", "src"),
        ("linked.sh 1", "src"),
        ("/bin/sh ../scripts/linked/ralph.sh 1", "src"),
    ],
)
def test_from_anywhere_and_through_links(ralph: Ralph, command: str, cwd: str) -> None:
    """As the original, the CLI runs in the folder that it is called in."""
    ralph.write("src/x", "")
    (ralph.folder / "link.sh").symlink_to("scripts/ralph/ralph.sh")
    (ralph.folder.parent / "bin/linked.sh").symlink_to(ralph.home / "ralph.sh")
    (ralph.folder / "scripts/linked").symlink_to("ralph")
    ralph.run("adopt")
    done = call(ralph, command, cwd)
    assert done.returncode == 1, done.stderr
    assert [each.cwd for each in ralph.calls()] == [str(ralph.folder / cwd)]
    assert (ralph.home / "progress.txt").exists()


def test_a_script_that_is_a_link_into_the_project_is_adopted_there(ralph: Ralph) -> None:
    ralph.write("tools/our-ralph.sh", SCRIPT, 0o755)
    (ralph.home / "ralph.sh").unlink()
    (ralph.home / "ralph.sh").symlink_to("../../tools/our-ralph.sh")
    done = ralph.run("adopt")
    assert done.returncode == 0, done.stderr
    assert call(ralph, "scripts/ralph/ralph.sh 1").returncode == 1
    assert len(ralph.calls()) == 1
    assert ralph.run("eject").returncode == 0
    assert (ralph.home / "ralph.sh").read_text() == SCRIPT


def test_stories_that_cannot_be_read_are_told_by_the_stand_in_too(ralph: Ralph) -> None:
    ralph.run("adopt")
    ralph.write("scripts/ralph/prd.json", "{,}")
    done = call(ralph, "scripts/ralph/ralph.sh 1")
    assert (done.returncode, "scripts/ralph/prd.json:1:2: no JSON" in done.stderr) == (2, True), done.stderr


def test_a_promise_through_the_stand_in(ralph: Ralph) -> None:
    ralph.run("adopt")
    ralph.turns("say on", otherwise=f"say '{DONE}'")
    done = call(ralph, "scripts/ralph/ralph.sh")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert "2 of 2 stories are open" in done.stderr.splitlines()[-1]
