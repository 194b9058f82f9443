"""`ralph-bridge run --agent` in a folder without a setup: an agent script drives the plain loop."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.cli.conftest import Project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MINE = """
AGENT_CLI=worker
agent_invoke() { worker "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { while IFS= read -r line; do echo "> $line"; done; }
"""


@pytest.fixture
def agents(tmp_path: Path) -> Project:
    """A repository with a prompt, an agent of its own, and no setup."""
    made = Project(tmp_path / "project")
    made.write("PROMPT.md", "Do the next task.\n")
    made.write("agents/mine.sh", MINE)
    made.write(".gitignore", "bin/\n.ralph/\n")  # what is kept beside the work must not count as some
    made.repository()
    return made


def worker(project: Project, code: str) -> None:
    """A program that is told how often it was called as $TURN, and keeps its prompts as bin/prompt.N."""
    count = 'TURN=$(($(cat bin/count 2>/dev/null) + 1)); echo $TURN >bin/count; cp "$1" "bin/prompt.$TURN"'
    project.cli("worker", f"{count}\n{code}")


def turns(project: Project) -> list[dict[str, Any]]:
    lines = (project.folder / ".ralph/logs/turns.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, "it didn't come true"
        time.sleep(0.01)


def test_to_the_promise_with_a_failure_on_the_way(agents: Project) -> None:
    worker(
        agents,
        "case $TURN in 1) echo 'no credit left' >&2; exit 3 ;; 2) echo working ;;"
        " *) echo 'all <promise>COMPLETE</promise>' ;; esac",
    )
    done = agents.run("run", "--agent", "mine", "--retry-delay", "0.01")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "> working\n> all <promise>COMPLETE</promise>\n"
    assert "exit status 3: no credit left" in done.stderr
    assert "the assistant gave the promise (completion_promise)" in done.stderr
    found = turns(agents)
    assert [each["result"] for each in found] == ["failed", "success", "success"]
    assert {each["tool"] for each in found} == {"agent mine"}
    second = (agents.folder / "bin/prompt.2").read_text()
    assert second.startswith("Loop #2.")
    assert second.endswith("\n\nDo the next task.\n")
    status = json.loads((agents.folder / ".ralph/status.json").read_text())
    assert (status["status"], status["loop_count"]) == ("completed", 3)
    assert json.loads((agents.folder / ".ralph/.ralph_bridge.json").read_text())["end"] == "completion_promise"


@pytest.mark.parametrize(
    ("said", "options", "code", "reason"),
    [
        ("echo working", ("--max-iterations", "2"), 1, "max_iterations"),
        ("echo '<promise>COMPLETE</promise>'", ("--completion-promise", "X", "--max-iterations", "1"), 1, "max_it"),
        ("echo '<promise>X</promise>'", ("--completion-promise", "X"), 0, "completion_promise"),
        (r"printf -- '---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'", (), 0, "project_complete"),
        ("echo ticked; printf -- '- [x] one\\n' >@fix_plan.md", (), 0, "plan_complete"),
        ("exit 7", ("--max-failures", "2", "--retry-delay", "0.01"), 1, "consecutive_failures"),
        (":", ("--max-failures", "1"), 1, "it printed nothing"),
    ],
)
def test_what_ends_it(agents: Project, said: str, options: tuple[str, ...], code: int, reason: str) -> None:
    agents.write("@fix_plan.md", "- [ ] one\n")
    worker(agents, said)
    done = agents.run("run", "--agent", "agents/mine.sh", *options)
    assert (done.returncode, reason in done.stderr.splitlines()[-1]) == (code, True), done.stderr


def test_a_shipped_one_whose_provider_s_limit_is_waited_out(agents: Project) -> None:
    limit = {"type": "result", "subtype": "success", "is_error": True, "result": "You've hit your session limit"}
    good = {"type": "result", "subtype": "success", "is_error": False, "result": "<promise>COMPLETE</promise>"}
    good |= {"usage": {"input_tokens": 7, "output_tokens": 5}, "total_cost_usd": 0.25}
    agents.cli(
        "claude",
        "cat >/dev/null; if mkdir bin/once 2>/dev/null;"
        f" then cat <<'E'\n{json.dumps(limit)}\nE\nexit 1; fi\ncat <<'E'\n{json.dumps(good)}\nE",
    )
    done = agents.run("run", "--agent", "claude", RALPH_BRIDGE_LIMIT_WAIT_SECONDS="0.2")
    assert done.returncode == 0, done.stderr
    assert "complete after 1 iteration," in done.stderr
    first, second = turns(agents)
    assert (first["result"], second["result"]) == ("limit", "success")
    assert (second["input_tokens"], second["output_tokens"], second["cost_usd"]) == (7, 5, 0.25)


def test_a_turn_and_a_hook_that_hang_are_ended(agents: Project) -> None:
    agents.write("agents/mine.sh", MINE + "agent_post_iteration() { sleep 600; }\n")
    worker(agents, "[ $TURN = 1 ] && exec sleep 600; echo '<promise>COMPLETE</promise>'")
    done = agents.run(
        *("run", "--agent", "mine", "--timeout", "0.02", "--retry-delay", "0.01"), RALPH_BRIDGE_HOOK_SECONDS="0.5"
    )
    assert done.returncode == 0, done.stderr
    assert "it ran for too long and was ended" in done.stderr
    assert done.stderr.count("agent_post_iteration was ended: it took longer than 0.5 s") == 2
    assert [each["result"] for each in turns(agents)] == ["timeout", "success"]


def test_one_loop_and_nothing_outlives_it(agents: Project) -> None:
    worker(agents, "setsid sleep 600 >/dev/null 2>&1 & echo $! >bin/left; echo $$ >bin/pid; sleep 600")
    process = agents.start("run", "--agent", "mine")
    until(lambda: (agents.folder / "bin/pid").exists() and (agents.folder / "bin/pid").read_text())
    second = agents.run("run", "--agent", "mine")
    assert (second.returncode, f"process {process.pid}" in second.stderr) == (4, True), second.stderr
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    for name in ("left", "pid"):
        pid = int((agents.folder / "bin" / name).read_text())
        until(partial(gone, pid))


def test_after_kill_9_the_next_run_ends_the_agent_and_goes_on(agents: Project) -> None:
    worker(
        agents,
        "[ $TURN = 1 ] || { echo '<promise>COMPLETE</promise>'; exit; }\n"
        "setsid sleep 600 & echo $! >bin/left; wait",
    )
    process = agents.start("run", "--agent", "mine")
    until(lambda: (agents.folder / "bin/left").exists() and (agents.folder / "bin/left").read_text())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = agents.run("run", "--agent", "mine")
    process.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    assert "is taken over" in done.stderr
    left = int((agents.folder / "bin/left").read_text())
    until(partial(gone, left))


def test_dry_run_prints_the_prompt_and_writes_nothing(agents: Project) -> None:
    done = agents.run("run", "--agent", "mine", "--dry-run")
    asked = "When all that the prompt asks for is done, and only then, end your answer with"
    expected = f"Loop #1. {asked} <promise>COMPLETE</promise>. \n\nDo the next task.\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    assert not (agents.folder / ".ralph").exists()


def test_a_prompt_that_is_gone_ends_the_loop(agents: Project) -> None:
    worker(agents, "rm PROMPT.md; echo working")
    done = agents.run("run", "--agent", "mine", "--max-iterations", "2")
    assert done.returncode == 4
    assert done.stdout == "> working\n"
    assert [each["status"] for each in turns(agents)] == [0]
    assert "PROMPT.md is gone since turn 1 · next: bring it back" in done.stderr


def test_what_is_refused(agents: Project) -> None:
    assert "exclude each other" in agents.refused("run", "--agent", "mine", "--driver", "codex")
    for words in (["--process"], ["--no-continue"], ["--allowed-tools", "Bash"]):
        assert words[0] in agents.refused("run", "--agent", "mine", *words)
    assert "no agent is called 'mime'. Did you mean mine?" in agents.refused("run", "--agent", "mime")
    assert "worker was not found on PATH" in agents.refused("run", "-q", "--agent", "mine", code=4)
