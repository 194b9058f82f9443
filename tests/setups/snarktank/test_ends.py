"""What ends the loop: the promise in the assistant's own last message, the stories, the iterations."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.setups.snarktank.conftest import DONE, Ralph, story

RUN = ("run", "--max-iterations", "2")
_RESULT = '{type: "user", message: {content: [{type: "tool_result", tool_use_id: "t", content: $t}]}}'
TOOL = f"event 'It prints {DONE}' '{_RESULT}'"


def test_the_promise_in_the_last_message_ends_it(ralph: Ralph) -> None:
    ralph.prd(story("US-001", passes=True), story("US-002"))
    ralph.turns("say on", "passes US-002; say 'All is done. <promise>COMPLETE</promise>'")
    done = ralph.run("run")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert done.stderr.splitlines()[-1].startswith("complete after 2 iterations")


@pytest.mark.parametrize("words", [(), ("--driver", "claude-code"), ("--driver", "codex")])
@pytest.mark.parametrize(
    "step",
    [
        f"talk '{DONE}'; say 'Not yet.'",
        f"{TOOL}; say 'Not yet.'",
        f"say 'Not yet.'; echo '{DONE}' >&2",
        "cat $call/stdin; say 'Not yet.'",
        "say 'COMPLETE, but not as a promise'",
    ],
    ids=["an earlier message", "a tool's output", "stderr", "the echoed prompt", "no tags"],
)
def test_a_promise_anywhere_else_ends_nothing(ralph: Ralph, step: str, words: tuple[str, ...]) -> None:
    ralph.turns(otherwise=step)
    for name in ("prompt.md", "CLAUDE.md"):
        ralph.write(f"scripts/ralph/{name}", f"Do the next story. When all pass: {DONE}\n")
    done = ralph.run(*RUN, *words)
    assert (done.returncode, len(ralph.calls())) == (1, 2), done.stderr
    assert done.stderr.splitlines()[-1].startswith("incomplete after 2 iterations")


PLAIN = """\
AGENT_CLI="claude"
agent_invoke() { claude -p < "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { cat; }
"""


def test_a_cli_that_prints_its_prompt_and_then_plain_text(ralph: Ralph) -> None:
    """As codex does without its JSON: what it was given is no promise, what it says behind it is."""
    ralph.write("plain.sh", PLAIN)
    ralph.write("scripts/ralph/CLAUDE.md", f"Do the next story. When all pass:\n\n{DONE}\n")
    ralph.turns(otherwise='echo "user:"; cat $call/stdin; echo "assistant:"; echo on')
    done = ralph.run(*RUN, "--agent", "plain.sh")
    assert (done.returncode, len(ralph.calls())) == (1, 2), done.stderr
    ralph.turns(otherwise=f'echo "user:"; cat $call/stdin; echo "assistant:"; echo "{DONE}"')
    assert ralph.run(*RUN, "--agent", "plain.sh").returncode == 0


def test_a_promise_of_a_turn_that_failed_counts_not(ralph: Ralph) -> None:
    ralph.turns(otherwise=f"say '{DONE}'; exit 3")
    done = ralph.run(*RUN)
    assert (done.returncode, len(ralph.calls())) == (1, 2), done.stderr


def test_another_promise_may_be_named(ralph: Ralph) -> None:
    ralph.turns(f"say '{DONE}'", otherwise="say '<promise>READY</promise>'")
    assert ralph.run("run", "--completion-promise", "READY").returncode == 0
    assert len(ralph.calls()) == 2


@pytest.mark.parametrize(("stories", "told"), [(1, "1 of 2 stories is open"), (2, "2 of 2 stories are open")])
def test_a_promise_while_stories_are_open_ends_it_and_says_so(ralph: Ralph, stories: int, told: str) -> None:
    ralph.prd(story("US-001", passes=stories == 1), story("US-002", 2))
    ralph.turns(otherwise=f"say '{DONE}'")
    notice = ralph.folder.parent / "notice"
    done = ralph.run("run", "--notify", f"cat >> {notice}")
    assert (done.returncode, len(ralph.calls())) == (0, 1), done.stderr
    assert f"the assistant gave the promise, but {told}" in done.stderr.splitlines()[-1]
    assert told in json.loads(notice.read_text())["detail"]
    assert told in " ".join(ralph.run("report").stdout.split())
    seen = ralph.status()
    assert (seen["ended"]["reason"], told in seen["ended"]["detail"]) == ("completion_promise", True)


def test_a_promise_that_is_true_says_nothing_of_the_kind(ralph: Ralph) -> None:
    ralph.turns(otherwise=f"passes US-001; passes US-002; say '{DONE}'")
    last = ralph.run("run").stderr.splitlines()[-1]
    assert "open" not in last
    assert last.startswith("complete after 1 iteration")


def test_all_stories_done_end_it_without_a_promise(ralph: Ralph) -> None:
    """Not as the original, which would go on until somebody says so: the next start would end at once anyway."""
    ralph.turns("passes US-001; say on", "passes US-002; say on")
    done = ralph.run("run")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr
    assert "all 2 stories are done" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("number", [1, 2])
def test_all_passed_before_is_complete_without_a_call(ralph: Ralph, number: int) -> None:
    ralph.prd(*(story(f"US-00{each}", passes=True) for each in range(number)))
    done = ralph.run("run")
    assert (done.returncode, ralph.calls()) == (0, []), done.stderr
    assert done.stderr.splitlines()[-1].startswith("complete")
    assert ("the only story is done" if number == 1 else "all 2 stories are done") in done.stderr


def test_ten_iterations_by_default_and_a_line_for_each(ralph: Ralph) -> None:
    ralph.turns(otherwise="say on")
    done = ralph.run("run")
    assert (done.returncode, len(ralph.calls())) == (1, 10), done.stderr
    assert "at most 10 iterations" in done.stderr.splitlines()[0]
    assert "[10/10] done in " in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("incomplete after 10 iterations")
    assert "all 10 iterations are used up" in last


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
