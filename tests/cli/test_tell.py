"""`ralph-bridge tell` where no loop is at work."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests import command

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from tests.examples import MakeProject


def run(project: Path, *words: str, stdin: bytes = b"") -> CompletedProcess[str]:
    done = command.run(words, cwd=project, env=dict(os.environ), stdin=stdin)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph/PROMPT.md").write_text("Go on.\n")
    return tmp_path


def test_a_message_waits_for_the_next_loop_until_it_is_taken_back(project: Path) -> None:
    sent = run(project, "tell", "Mind the zebra.")
    assert (sent.returncode, "the next one's first turn" in sent.stderr) == (0, True)
    assert run(project, "tell", "-", stdin=b"And \x1b]0;title\x07 \xff.\n").returncode == 0
    listed = run(project, "tell", "--list").stdout
    assert [line[21:] for line in listed.splitlines()] == ["Mind the zebra.", "And ]0;title \ufffd."]
    shown = run(project, "status")
    assert "Mind the zebra." in shown.stdout
    assert "\x1b" not in shown.stdout
    messages = json.loads(run(project, "status", "--json").stdout)["messages"]
    assert [(each["text"], each["skip"]) for each in messages] == [
        ("Mind the zebra.", False),
        ("And \x1b]0;title\x07 \ufffd.", False),
    ]
    assert "2 messages" in run(project, "tell", "--clear").stderr
    assert run(project, "tell", "--list").stdout == ""


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 2),
        (("text", "--pause"), 2),
        (("",), 2),
        (("x" * 65_537,), 2),
        (("text", "--setup", "nonsense"), 2),
        (("--pause",), 1),
        (("--resume",), 1),
        (("--skip-task",), 1),
    ],
    ids=lambda words: str(words)[:30],
)
def test_what_cannot_be_told_is_refused_with_the_reason(project: Path, words: tuple[str, ...], status: int) -> None:
    refused = run(project, "tell", *words)
    assert (refused.returncode, refused.stderr != "") == (status, True)
    assert not (project / ".ralph/logs").exists()


@pytest.mark.parametrize("kind", ["snarktank", "playbook"])
def test_before_the_first_run_of_all_a_message_waits_for_it(make_project: MakeProject, kind: str) -> None:
    made = make_project(kind)
    sent = made.run("tell", "Mind the zebra.")
    assert (sent.returncode, "the next one's first turn" in sent.stderr) == (0, True)
    assert made.git("status", "--porcelain") == ""
    made.turns('printf "%s\n" "$@" > "$kept/told"; timeout 5 cat >> "$kept/told"; work')
    assert made.start("--max-iterations", "1").finished() == made.example.used_up
    assert "zebra" in (made.kept / "told").read_text()


def test_in_a_repository_without_a_prompt_it_waits_too_and_stays_out_of_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert run(tmp_path, "tell", "Mind the zebra.").returncode == 0
    assert "zebra" in run(tmp_path, "tell", "--list").stdout
    seen = subprocess.run(["git", "-C", str(tmp_path), "status", "--porcelain"], capture_output=True, check=True)
    assert seen.stdout == b""


def test_in_a_folder_that_is_no_project_nothing_is_written(tmp_path: Path) -> None:
    assert run(tmp_path, "tell", "Mind the zebra.").returncode == 1
    assert os.listdir(tmp_path) == []


def test_a_link_leads_no_message_out_of_the_project(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (project / ".ralph/logs").symlink_to(elsewhere)
    refused = run(project, "tell", "Mind the zebra.")
    assert refused.returncode in (2, 4)
    assert "next: remove the link" in refused.stderr
    assert os.listdir(elsewhere) == []
