"""What ends the loop: the script, with its own exit code; what is known of the stories beside that is told."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.setups.snarktank.conftest import DONE, Ralph, story

RUN = ("run", "--max-iterations", "2")


def test_the_promise_in_the_last_message_ends_it(ralph: Ralph) -> None:
    ralph.prd(story("US-001", passes=True), story("US-002"))
    ralph.turns("say on", "passes US-002; say 'All is done. <promise>COMPLETE</promise>'")
    done = ralph.run("run")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert done.stderr.splitlines()[-1].startswith("complete after 2 iterations")


@pytest.mark.parametrize("words", [(), ("--driver", "claude-code")])
def test_where_the_promise_counts_is_the_scripts_own_matter(ralph: Ralph, words: tuple[str, ...]) -> None:
    ralph.turns("say on", f"talk '{DONE}'; say 'Not yet.'; exit 3")
    done = ralph.run("run", *words)
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr


def test_another_tools_last_message_is_what_the_script_gets(ralph: Ralph) -> None:
    ralph.turns(f"talk '{DONE}'; say 'Not yet.'", f"say 'Done. {DONE}'")
    done = ralph.run("run", "--driver", "codex")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr


def test_another_promise_may_be_named(ralph: Ralph) -> None:
    """It ends the script in front of its next call."""
    ralph.turns("say on", otherwise="say '<promise>READY</promise>'")
    done = ralph.run("run", "--completion-promise", "READY")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert "the assistant gave the promise, but 2 of 2 stories are open" in done.stderr


@pytest.mark.parametrize(("stories", "told"), [(1, "1 of 2 stories is open"), (2, "2 of 2 stories are open")])
def test_a_promise_while_stories_are_open_ends_it_and_says_so(ralph: Ralph, stories: int, told: str) -> None:
    ralph.prd(story("US-001", passes=stories == 1), story("US-002", 2))
    ralph.turns(otherwise=f"say '{DONE}'")
    notice = ralph.folder.parent / "notice"
    done = ralph.run("run", "--notify", f"cat >> {notice}")
    assert (done.returncode, len(ralph.calls())) == (0, 1), done.stderr
    assert f"the script ended with 0, but {told}" in done.stderr.splitlines()[-1]
    assert told in json.loads(notice.read_text())["detail"]
    assert told in " ".join(ralph.run("report").stdout.split())
    seen = ralph.status()
    assert (seen["ended"]["reason"], told in seen["ended"]["detail"]) == ("script_ended", True)


def test_a_promise_that_is_true_says_nothing_of_the_kind(ralph: Ralph) -> None:
    ralph.turns(otherwise=f"passes US-001; passes US-002; say '{DONE}'")
    last = ralph.run("run").stderr.splitlines()[-1]
    assert "open" not in last
    assert last.startswith("complete after 1 iteration")


def test_all_stories_done_before_is_no_end_for_the_script(ralph: Ralph) -> None:
    ralph.prd(story("US-001", passes=True))
    ralph.turns("say on", f"say '{DONE}'")
    done = ralph.run("run")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert "open" not in done.stderr.splitlines()[-1]


def test_ten_iterations_by_default_and_a_line_for_each(ralph: Ralph) -> None:
    ralph.turns(otherwise="say on")
    done = ralph.run("run")
    assert (done.returncode, len(ralph.calls())) == (1, 10), done.stderr
    assert "[10] done in " in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("incomplete after 10 iterations")
    assert "the script ended with 1, but 2 of 2 stories are open" in last


def test_a_plan_that_goes_on_is_seen_in_each_line(ralph: Ralph) -> None:
    ralph.prd(story("US-001", 2), story("US-002", 3), story("US-003", 1))
    ralph.turns("passes US-003; say on", "say on")
    done = ralph.run(*RUN)
    lines = [line.split(" · ") for line in done.stderr.splitlines() if line.startswith("[")]
    assert [line[-1].split(": ")[-1] for line in lines if "started" in line[0]] == [
        "US-003 do US-003",
        "US-001 do US-001",
    ]
    assert done.stderr.count("1 of 3 tasks ticked") == 2


def test_max_iterations(ralph: Ralph) -> None:
    assert ralph.run("run", "--max-iterations", "3").returncode == 1
    assert len(ralph.calls()) == 3


def test_max_iterations_of_a_script_that_takes_no_number(ralph: Ralph) -> None:
    endless = "#!/bin/bash\nwhile :; do claude -p < scripts/ralph/CLAUDE.md; done\n"
    ralph.write("scripts/ralph/ralph.sh", endless, 0o755)
    done = ralph.run("run", "--max-iterations", "3")
    assert (done.returncode, len(ralph.calls())) == (1, 3), done.stderr
    assert "all 3 iterations are used up" in done.stderr


def test_words_behind_two_dashes_are_the_scripts(ralph: Ralph) -> None:
    assert ralph.run("run", "--", "2", "--tool", "claude").returncode == 1
    assert [each.argv[0] for each in ralph.calls()] == ["claude", "claude"]


@pytest.mark.parametrize("words", [(), ("--driver", "claude-code"), ("--driver", "codex")])
def test_a_missing_cli_is_told_before_any_turn_and_nothing_is_changed(ralph: Ralph, words: tuple[str, ...]) -> None:
    for name in ("amp", "claude", "codex"):
        (ralph.folder.parent / "bin" / name).unlink()
    kept = shutil.which("codex") or shutil.which("claude") or shutil.which("amp")
    assert kept is None, "this machine has one of its own"
    before = ralph.files()
    told = ralph.refused("run", *words, code=4)
    assert "next: install it" in told or "npm install" in told
    assert ralph.files() == before
    assert not (ralph.folder / ".ralph/logs/turns.jsonl").exists()
