"""Runs of Pocock's scripts: they are what runs, so all is as in a run of the script itself by bash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.machine import path_without
from tests.setups.pocock.conftest import FORMS, PRD, Form, make

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.snarktank.conftest import Call, Ralph

RUN = ("run", "--max-iterations", "2")
DONE = FORMS["plans"].promise


def by_itself(ralph: Ralph, form: Form, *words: str) -> subprocess.CompletedProcess[str]:
    """The script run by bash."""
    command = ["bash", form.script, *words]
    return subprocess.run(command, cwd=ralph.folder, env=ralph.env, capture_output=True, text=True, check=False)


def prompts(calls: list[Call]) -> list[str]:
    """What each call was asked: the only word with a blank in it."""
    return [next(word for word in call.argv[1:] if " " in word) for call in calls]


def test_each_turn_is_the_scripts_own_call(each: tuple[Ralph, Form]) -> None:
    ralph, form = each
    original = by_itself(ralph, form, "3")
    made = ralph.calls()
    assert (original.returncode, len(made)) == (0, 3), original.stderr
    done = ralph.run("run", "--max-iterations", "3")
    assert ralph.calls()[3:] == made
    assert (done.returncode, done.stdout) == (0, original.stdout), done.stderr
    planned = "PRD" in "".join(form.files) or "prd" in "".join(form.files)
    last = f"{'in' if planned else ''}complete after 3 iterations, 0 failed"
    assert done.stderr.splitlines()[-1].startswith(last)


def test_the_promise_of_the_scripts_own_test_ends_it(each: tuple[Ralph, Form]) -> None:
    ralph, form = each
    ralph.turns("say on", f"say 'So: {form.promise}'", "say on", f"say 'So: {form.promise}'")
    assert by_itself(ralph, form, "5").returncode == 0
    assert len(ralph.calls()) == 2
    done = ralph.run("run", "--max-iterations", "5")
    assert (done.returncode, len(ralph.calls())) == (0, 4), done.stderr
    assert done.stderr.splitlines()[-1].startswith("complete after 2 iterations")


def test_open_tasks_are_told_at_the_end(ralph: Ralph) -> None:
    ralph.turns(otherwise=f"say '{DONE}'")
    assert "the script ended with 0, but 1 of 2 tasks is open" in ralph.run(*RUN).stderr


def test_another_promise_ends_nothing_unless_it_is_named(tmp_path: Path) -> None:
    ralph = make(tmp_path / "project", "stream")
    ralph.turns(otherwise=f"say '{DONE}'")
    done = ralph.run(*RUN)
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    done = ralph.run(*RUN, "--completion-promise", "COMPLETE")
    assert done.stderr.splitlines()[-1].startswith("complete after 1 ")


def test_the_word_of_giving_up_ends_it_with_1(tmp_path: Path) -> None:
    ralph, form = make(tmp_path / "project", "stream"), FORMS["stream"]
    ralph.turns(otherwise="say 'No: <promise>ABORT</promise>'")
    assert (by_itself(ralph, form, "3").returncode, len(ralph.calls())) == (1, 1)
    done = ralph.run("run", "--max-iterations", "3")
    assert (done.returncode, len(ralph.calls())) == (1, 2), done.stderr


def test_without_a_number_nothing_is_run(ralph: Ralph) -> None:
    done = ralph.run("run")
    assert (done.returncode, ralph.calls()) == (2, [])
    assert "next: ralph-bridge run --max-iterations" in done.stderr


def test_a_script_that_stumbles_over_its_missing_number_is_told_how_it_is_given(ralph: Ralph) -> None:
    ralph.write("plans/ralph.sh", 'for ((i=1; i<=$1; i++)); do claude -p "Turn $i."; done\n')
    done = ralph.run("run")
    assert (done.returncode, ralph.calls()) == (1, [])
    assert "how many turns: --max-iterations 10" in done.stderr.splitlines()[-1]


def test_a_number_that_the_script_has_by_default_is_ours(ralph: Ralph) -> None:
    ralph.write("plans/ralph.sh", 'MAX=${1:-2}\nfor i in $(seq 1 $MAX); do claude -p "Turn $i of $MAX."; done\n')
    assert ralph.run("run").returncode == 0
    assert prompts(ralph.calls()) == ["Turn 1 of 2.", "Turn 2 of 2."]


def test_a_script_that_has_a_number_of_its_own_runs_without_one(ralph: Ralph) -> None:
    parse = 'while [[ $# -gt 0 ]]; do [[ "$1" =~ ^[0-9]+$ ]] && MAX=$1; shift; done\n'
    ralph.write("plans/ralph.sh", f'MAX=2\n{parse}for i in $(seq 1 $MAX); do claude -p "Turn $i."; done\n')
    assert ralph.run("run").returncode == 0
    assert prompts(ralph.calls()) == ["Turn 1.", "Turn 2."]


def test_another_cli_gets_the_same_prompt(ralph: Ralph) -> None:
    done = ralph.run(*RUN, "--driver", "codex")
    assert done.returncode == 0, done.stderr
    assert {call.argv[0] for call in ralph.calls()} == {"codex"}
    given = "".join(ralph.calls()[0].argv) + ralph.calls()[0].stdin.decode()
    assert "@plans/prd.json @progress.txt 1. Take" in given


def test_a_prompt_file_takes_the_place_of_the_script(ralph: Ralph) -> None:
    ralph.write("mine.md", "My own words.\n")
    assert ralph.run(*RUN, "--prompt", "mine.md").returncode == 0
    assert [call.stdin for call in ralph.calls()] == [b"My own words."] * 2
    done = ralph.run(*RUN, "--prompt", "mine.md", "--", "3")
    assert (done.returncode, len(ralph.calls())) == (2, 2)
    assert "words is for the project's script, and here a prompt is run" in done.stderr


def test_a_call_in_a_sandbox_of_dockers_is_a_turn(tmp_path: Path) -> None:
    ralph = make(tmp_path / "project", "afk")
    done = ralph.run(*RUN)
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert "[2/2] done in " in done.stderr


def test_what_only_bash_can_tell_is_told_by_bash(ralph: Ralph) -> None:
    ralph.write("next.sh", "#!/bin/sh\necho the next one\n", 0o755)
    ralph.write("plans/ralph.sh", 'for ((i=1; i<=$1; i++)); do\n  claude -p "Do $(./next.sh) now"\ndone\n')
    assert ralph.run(*RUN).returncode == 0
    assert prompts(ralph.calls()) == ["Do the next one now"] * 2


def test_a_missing_cli_ends_it_before_any_turn(
    ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_without("claude", tmp_path))
    for path in (ralph.folder.parent / "bin").iterdir():
        path.unlink()
    done = ralph.run(*RUN)
    assert done.returncode == 4, done.stderr
    assert "claude" in done.stderr


# -- its plan -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        (PRD, {"done": 1, "total": 2, "next": "two"}),
        (PRD.replace("passes", "tested"), {"done": 1, "total": 2, "next": "two"}),
        ('{"features": [{"name": "a", "passes": false}]}', {"done": 0, "total": 1, "next": "a"}),
        ('{"project": "x", "phases": [{"tasks": []}]}', None),
        ("[]", {"done": 0, "total": 0, "next": None}),
    ],
)
def test_status_shows_the_list(ralph: Ralph, text: str, plan: dict[str, object] | None) -> None:
    ralph.write("plans/prd.json", text)
    assert ralph.status()["plan"] == plan
    assert (ralph.run(*RUN).returncode, len(ralph.calls())) == (0, 2)
    assert (ralph.folder / "plans/prd.json").read_text() == text


def test_the_plan_is_the_one_that_the_script_mentions(tmp_path: Path) -> None:
    ralph = make(tmp_path / "project", "afk")
    ralph.write("plans/prd.json", PRD.replace("false", "true"))
    assert ralph.status()["plan"] == {"done": 1, "total": 2, "next": "two"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[\n  {"passes": true,}\n]', "plans/prd.json:2:"),
        ('[\n {"passes": "yes"}]', "plans/prd.json:2:"),
        ("7", "plans/prd.json:1:1"),
    ],
)
def test_a_list_that_cannot_be_read_ends_the_start(ralph: Ralph, text: str, place: str) -> None:
    ralph.write("plans/prd.json", text)
    done = ralph.run(*RUN)
    assert (done.returncode, ralph.calls()) == (2, [])
    assert place in done.stderr
    assert (ralph.folder / "plans/prd.json").read_text() == text


def test_a_list_that_the_agent_leaves_half_written_is_told_and_goes_on(ralph: Ralph) -> None:
    ralph.turns("echo '[{' > plans/prd.json; say on", otherwise=f"say '{DONE}'")
    done = ralph.run(*RUN)
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert "plans/prd.json:2:1: no JSON" in done.stderr


# -- odd projects ---------------------------------------------------------------------------------------


def test_no_git_and_a_path_with_blanks_and_umlauts(tmp_path: Path) -> None:
    ralph = make(tmp_path / "für alle" / "Pro jekt ü")
    shutil.rmtree(ralph.folder / ".git")
    done = ralph.run(*RUN)
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr


def test_a_folder_that_cannot_be_written_is_told(ralph: Ralph) -> None:
    if os.geteuid() == 0:
        ralph.write(".ralph", "")  # root may write everywhere, but not into a file
    else:
        ralph.folder.chmod(0o555)
    done = ralph.run(*RUN)
    ralph.folder.chmod(0o755)
    assert (done.returncode, ralph.calls()) == (4, []), done.stderr
    assert ".ralph" in done.stderr


def test_the_record_of_a_run(ralph: Ralph) -> None:
    ralph.run(*RUN)
    seen = json.loads(ralph.run("status", "--json").stdout)
    assert (seen["setup"], seen["exit_reason"], seen["loop"]) == ("pocock", "script_ended", 2)
