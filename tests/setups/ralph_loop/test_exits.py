"""Every exit code of the controller, and every error before its loop, by running the command."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge.loop.engine.active_run import ActiveRun
from tests.setups.ralph_loop.conftest import COMPLETE, CONTROLLER, PLAN, REPLAN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.examples import MakeProject
    from tests.setups.ralph_loop.conftest import Ralph


# -- A.12: exit codes --------------------------------------------------------------------------------


def test_exit_0_complete_and_at_most(ralph: Ralph) -> None:
    ralph.answer(3, f"say '{COMPLETE}'")
    done = ralph.run("run", "plan", "2")
    assert (done.returncode, "· at most 2 iterations" in done.stderr) == (0, True), done.stderr
    assert ralph.reason() == "Exit: max iterations reached (code 0)"
    shutil.rmtree(ralph.home / "logs")
    assert ralph.run("run", "plan", "2").returncode == 0
    assert ralph.reason() == "Exit: completion signal (code 0)"


@pytest.mark.parametrize("number", ["0", "-5"])
def test_exit_0_without_any_iteration(ralph: Ralph, number: str) -> None:
    done = ralph.run("run", "--", "plan", number)
    assert done.returncode == 0, done.stderr
    assert "Iterations: 0  Successful: 0  Failed: 0\n" in ralph.log()
    assert ralph.prompts() == []


def test_exit_1_usage(ralph: Ralph) -> None:
    for words in (("bogus",), ("build", "--process")):
        done = ralph.run("run", *words)
        assert (done.returncode, done.stderr.startswith("Error: ")) == (1, True), done.stderr


@pytest.mark.parametrize("number", ["abc", "08", "1.5"])
def test_exit_1_not_a_number(ralph: Ralph, number: str) -> None:
    done = ralph.run("run", "plan", number)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"must be a whole number, not '{number}'" in done.stderr


def test_exit_2_build_without_a_plan(ralph: Ralph) -> None:
    done = ralph.run("run", "build")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Implementation plan not found. Run 'ralph plan' first.\n"
    assert not (ralph.home / "logs").exists()


def test_exit_3_replan(ralph: Ralph) -> None:
    ralph.plan("process")
    ralph.answer(2, f"say 'no way: {REPLAN}'")
    done = ralph.run("run", "build")
    assert done.returncode == 3, done.stderr
    words = "Agent requested re-planning. Run 'ralph plan --process' to regenerate the implementation plan.\n"
    assert words in ralph.log()
    assert "Iterations: 2  Successful: 2  Failed: 0\n" in ralph.log()
    assert ralph.reason() == "Exit: replan signal (code 3)"
    assert done.stdout == ralph.log()


def test_exit_3_replan_names_plan_when_the_plan_names_nothing(ralph: Ralph) -> None:
    ralph.answer("any", f"say '{REPLAN}'")
    assert ralph.run("run", "plan").returncode == 3
    assert "Run 'ralph plan' to regenerate" in ralph.log()


def test_exit_4_retries_are_used_up(ralph: Ralph) -> None:
    ralph.answer("any", f"say '{COMPLETE}'; exit 7")
    done = ralph.run("run", "plan", "3")
    assert done.returncode == 4
    assert len(ralph.prompts()) == 4
    for number in (1, 2, 3):
        assert f"Agent failure, retry {number}/3..." in ralph.log()
    assert ralph.log().count("ITERATION 1 DONE") == 4
    assert "Iterations: 1  Successful: 0  Failed: 1\n" in ralph.log()
    assert ralph.reason() == "Exit: agent failure exceeded retries (code 4)"


@pytest.mark.parametrize("hook", ["agent_pre_iteration", "agent_post_iteration"])
def test_exit_n_of_a_hook(ralph: Ralph, hook: str) -> None:
    ralph.agent(f'{hook}() {{ echo "leaving"; exit 42; }}')
    done = ralph.run("run", "plan")
    assert done.returncode == 42
    assert "leaving\n" in done.stdout
    assert ralph.reason() == f"Exit: {hook} called exit (code 42)"
    # Behind the program, its turn is over and known; before it, there was none.
    ran = hook == "agent_post_iteration"
    (turn,) = ralph.turns()
    assert (turn["result"], turn["error"]) == (("success", None) if ran else ("interrupted", f"{hook} called exit"))
    assert ralph.run("run", "plan", "--strict-compat").returncode == 42


def test_exit_1_a_hook_that_bash_dies_of(ralph: Ralph) -> None:
    ralph.agent('agent_post_iteration() { echo "$NO_SUCH_VARIABLE"; }')
    done = ralph.run("run", "plan")
    assert done.returncode == 1
    assert "NO_SUCH_VARIABLE: unbound variable" in done.stderr
    assert ralph.reason() == "Exit: agent_post_iteration failed (code 1)"


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [
        (signal.SIGINT, 130, "interrupted by SIGINT"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
    ],
)
def test_exit_130_143_129_signals_end_the_agent_first(
    ralph: Ralph, number: signal.Signals, status: int, words: str
) -> None:
    # After TERM also with a child in the background, which doesn't hear INT: that costs two seconds of patience.
    waits = "sleep 300 & echo $$ $! > pids; wait" if number is signal.SIGTERM else "echo $$ > pids; exec sleep 300"
    ralph.answer("any", f"say working; {waits}")
    os.mkfifo(ralph.folder / "pids")
    process = ralph.start("run", "plan")
    # The FIFO opens when amp writes to it: it is up then, and the loop is waiting for it.
    pids = [int(pid) for pid in (ralph.folder / "pids").read_text().split()]
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert "Traceback" not in err
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)
    assert ralph.reason() == f"Exit: {words} (code {status})"
    assert f"Exit: {words} (code {status})" in out


def test_a_turn_is_recorded_whose_last_hook_is_interrupted(ralph: Ralph) -> None:
    ralph.agent("agent_post_iteration() { echo x > up; sleep 300; }")
    os.mkfifo(ralph.folder / "up")
    process = ralph.start("run", "plan", "3")
    (ralph.folder / "up").read_text()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert [each["result"] for each in ralph.turns()] == ["success"]
    assert "incomplete after 1 iteration, 0 failed" in err
    assert ralph.reason() == "Exit: interrupted by SIGINT (code 130)"


def test_an_iteration_is_counted_that_is_ended_before_it_is_repeated(ralph: Ralph) -> None:
    ralph.answer("any", "exit 7")
    with ralph.terminal("run", "plan", "3", "--retry-delay", "300") as child:
        child.expect("retry 1/3")
        child.sendintr()
        child.expect("after 1 iteration, 1 failed")


# -- A.4: errors before the loop -----------------------------------------------------------------------


def _no_config(ralph: Ralph) -> None:
    (ralph.home / "config").unlink()


def _sandboxed(ralph: Ralph) -> None:
    ralph.write(".ralph/ralph", CONTROLLER + 'source "$RALPH_DIR/lib/sandbox.sh"\n', 0o755)


def _worktree_gone(ralph: Ralph) -> None:
    shutil.rmtree(ralph.folder / ".git")


def _no_program(ralph: Ralph) -> None:
    (ralph.folder / "bin/amp").unlink()


def _no_specs(ralph: Ralph) -> None:
    shutil.rmtree(ralph.folder / "specs")


def _no_template(ralph: Ralph) -> None:
    (ralph.home / "prompts/plan.md").unlink()


def _agentless(ralph: Ralph) -> None:
    (ralph.home / "agents/amp.sh").unlink()


def _process(*lines: str, files: bool = False, plan: str = "") -> Callable[[Ralph], None]:
    def prepare(ralph: Ralph) -> None:
        ralph.config(*lines)
        (ralph.folder / "process").mkdir()
        if files:
            ralph.write("process/one.md", "x")
        if plan:
            ralph.write(".ralph/implementation_plan.md", plan)

    return prepare


def _configured(*lines: str) -> Callable[[Ralph], None]:
    return lambda ralph: ralph.config(*lines)


def _scripted(*lines: str) -> Callable[[Ralph], None]:
    return lambda ralph: ralph.agent(*lines)


@pytest.mark.parametrize(
    ("prepare", "words", "said"),
    [
        (_no_config, "plan", "Error: config file not found: "),
        (_sandboxed, "plan", "lib/sandbox.sh is missing: the controller sources it"),
        (_configured("unset AGENT"), "plan", "Error: AGENT is not set in "),
        (_configured("false"), "plan", "/config failed while it was read"),
        (_configured('X="$NO_SUCH_VARIABLE"'), "plan", "NO_SUCH_VARIABLE: unbound variable"),
        (_configured("if"), "plan", "syntax error"),
        (_configured("MODE=dance"), "plan", "Error: 'dance' is no mode"),
        (_configured("MAX_RETRIES=many"), "plan", "Error: MAX_RETRIES must be a whole number"),
        (_configured("AGENT=nobody"), "plan", "Error: agent script not found: "),
        (_configured("AGENT=amp\r\n"), "plan", "agents/amp.sh\n  next: its lines end in CR LF"),
        (_agentless, "plan", "Error: agent script not found: "),
        (_scripted("false"), "plan", "agents/amp.sh"),
        (_scripted("unset -f agent_invoke"), "plan", "agent_invoke"),
        (_scripted("unset AGENT_CLI"), "plan", "AGENT_CLI"),
        (_worktree_gone, "plan", "Error: not a git repository (no .git directory found)\n"),
        (_no_program, "plan", "Error: agent CLI not found in PATH: amp\n"),
        (_no_specs, "plan", "Error: specs directory not found: specs\n"),
        (_no_specs, "prompt mine.md", "Error: specs directory not found: specs\n"),
        (_no_template, "plan", "Error: prompt template not found: "),
        (_configured(), "plan --process", "Error: PROCESS_DIR is not set"),
        (_configured("PROCESS_DIR=process"), "plan --process", "Error: process directory not found: process\n"),
        (_process("PROCESS_DIR=process"), "plan --process", "Error: no .md files found in process directory"),
        (_configured(), "align-specs", "Error: PROCESS_DIR is not set"),
        (_process("PROCESS_DIR=process"), "align-specs", "Error: implementation plan not found: "),
        (_process("PROCESS_DIR=process", plan=PLAN), "align-specs", "Error: align-specs needs a process plan"),
        (
            _process("PROCESS_DIR=process", plan=PLAN.format(kind="process")),
            "align-specs",
            "Error: align-specs needs completed tasks",
        ),
        (_configured(), "prompt", "Error: prompt mode needs a prompt file"),
        (_configured(), "prompt none.md", "Error: prompt file not found: none.md\n"),
        (_configured(), "prompt specs/one.md", "Error: prompt file has no completion signal: specs/one.md\n"),
    ],
)
def test_exit_1_before_the_loop(ralph: Ralph, prepare: Callable[[Ralph], None], words: str, said: str) -> None:
    prepare(ralph)
    done = ralph.run("run", *words.split())
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert not (ralph.home / "logs").exists()
    assert ralph.prompts() == []


def test_exit_n_of_a_config_or_a_script_that_exits(ralph: Ralph) -> None:
    ralph.agent("echo 'not me' >&2", "exit 6")
    done = ralph.run("run", "plan")
    assert (done.returncode, "not me" in done.stderr) == (6, True), done.stderr
    ralph.config("echo 'not today' >&2", "exit 5")
    done = ralph.run("run", "plan")
    assert (done.returncode, "not today" in done.stderr) == (5, True), done.stderr


def test_what_sourced_files_print_is_shown(ralph: Ralph) -> None:
    ralph.config("echo from config; echo careful >&2")
    ralph.write(".ralph/lib/sandbox.sh", "echo from sandbox\n")
    ralph.agent("echo from agent")
    done = ralph.run("run", "plan", "0")
    assert done.stdout.startswith("from config\nfrom sandbox\nfrom agent\n" + "=" * 80), done.stderr
    assert done.stderr.startswith("careful\namp · agent ")
    assert len([line for line in done.stderr.splitlines() if "git has no user.name" not in line]) == 3


def test_a_second_loop_is_refused_and_told_who_is_at_work(ralph: Ralph) -> None:
    (ralph.home / "logs").mkdir(exist_ok=True)
    with ActiveRun(ralph.home / "logs", ralph.folder, command=["ralph", "plan"]):
        done = ralph.run("run", "plan")
    assert done.returncode == 1
    assert f"another loop is running in {ralph.folder}: process {os.getpid()}, since 2" in done.stderr
    assert ralph.run("run", "plan", "1").returncode == 0
    left = {path.name for path in (ralph.home / "logs").iterdir() if path.suffix != ".log"}
    assert left == {".gitignore", ".ralph_bridge.json", ".ralph_bridge.lock", "runs.jsonl", "turns.jsonl"}


def test_a_reader_that_goes_away(ralph: Ralph) -> None:
    ralph.answer("any", "say one; say two")
    process = ralph.start("run", "plan", "3")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_the_second_ctrl_c_ends_it_at_once(ralph: Ralph) -> None:
    """amp tells that it has heard INT, and goes on; a patient loop would then send TERM, an impatient one KILL."""
    ralph.answer(
        "any",
        "trap 'echo INT > heard' INT; trap 'echo TERM > heard-term' TERM\necho > up; while :; do sleep 1; done",
    )
    for name in ("up", "heard"):
        os.mkfifo(ralph.folder / name)
    process = ralph.start("run", "plan", RALPH_BRIDGE_KILL_GRACE_SECONDS="50")
    (ralph.folder / "up").read_text()
    process.send_signal(signal.SIGINT)
    assert (ralph.folder / "heard").read_text() == "INT\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (ralph.folder / "heard-term").exists()


ITERATES = """\
import os, sys
from pathlib import Path
from bridge import Loop

Path(sys.argv[1]).write_text(str(os.getpid()))
try:
    with Loop.open(words=["plan", "1"]) as events:
        list(events)
except KeyboardInterrupt:
    sys.exit(42)
"""


def test_ctrl_c_reaches_who_iterates_over_its_loop(make_project: MakeProject, tmp_path: Path) -> None:
    """As in any program: the loop is over, its program ended, and the signal goes on."""
    project = make_project("ralph-loop")
    project.turns(otherwise=f"kill -INT $(cat {tmp_path}/pid); hang")
    words = [sys.executable, "-c", ITERATES, str(tmp_path / "pid")]
    done = subprocess.run(words, cwd=project.path, env=project.environment(), check=False, timeout=60)
    assert done.returncode == 42
    assert project.alive() == []
