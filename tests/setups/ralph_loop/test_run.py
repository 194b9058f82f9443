"""`ralph-bridge run` in a ralph-loop setup, as a process: whole sessions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.setups.ralph_loop.conftest import COMPLETE, PLAN, RULE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.setups.ralph_loop.conftest import Ralph

    Start = Callable[..., subprocess.CompletedProcess[str]]

# plan: writes a process plan of three tasks. build: does the task that it is handed, and says so.
WORK = f"""
case $prompt in
"prompt plan "*) cp the-plan .ralph/implementation_plan.md; say "planned {COMPLETE}" ;;
*)
    task=$(printf '%s\\n' "$prompt" | sed -n 's/^### Task \\([0-9]\\):.*/\\1/p' | head -n 1)
    tick "$task"
    say "did $task"
    if [ "$task" = 3 ]; then say "all done {COMPLETE}"; fi ;;
esac
"""


def attempt(number: int, mode: str, prompt: str, *said: str) -> str:
    """What one iteration logs, as a pattern."""
    return "".join(
        line + "\n"
        for line in (
            RULE,
            rf"ITERATION {number}  \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d",
            rf"mode: {mode}  prompt: {re.escape(prompt)}",
            RULE,
            *map(re.escape, said),
            RULE,
            rf"ITERATION {number} DONE in \d+s ----",
            RULE,
        )
    )


def ending(iterations: int, reason: str, code: int = 0) -> str:
    lines = [RULE, "SESSION SUMMARY", RULE, f"Iterations: {iterations}  Successful: {iterations}  Failed: 0"]
    return "\n".join([*lines, r"Duration: \d+s", rf"Exit: {reason} \(code {code}\)", RULE, ""])


def through_run(ralph: Ralph) -> Start:
    return lambda *words: ralph.run("run", *words)


def through_adopt(ralph: Ralph) -> Start:
    assert ralph.run("adopt").returncode == 0
    (ralph.folder / "ralph").symlink_to(".ralph/ralph")

    def start(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["./ralph", *words]
        return subprocess.run(command, cwd=ralph.folder, env=ralph.env, capture_output=True, text=True, check=False)

    return start


@pytest.mark.parametrize("through", [through_run, through_adopt])
def test_issue_5_1_plan_then_build_three_tasks_then_complete(
    ralph: Ralph, through: Callable[[Ralph], Start]
) -> None:
    start = through(ralph)
    ralph.write("the-plan", PLAN.format(kind="process"))
    ralph.answer("any", WORK)
    planned = start("plan", "3")
    assert planned.returncode == 0, planned.stderr
    prompts = ralph.home / "prompts"
    pattern = attempt(1, "plan", str(prompts / "plan.md"), f"planned {COMPLETE}") + ending(1, "completion signal")
    assert re.fullmatch(pattern, planned.stdout), planned.stdout
    assert ralph.log() == planned.stdout
    shutil.rmtree(ralph.home / "logs")

    built = start("build")
    assert built.returncode == 0, built.stderr
    asked = ralph.prompts()[1:]
    assert [prompt.split("\n")[1] for prompt in asked] == [
        "### Task 1: one",
        "### Task 2: two",
        "### Task 3: three",
    ]
    assert "--\n### Task 1: one\n**Status:** complete\n### Task 3: three\n**Status:** planned\n" in asked[1]
    path = str(prompts / "build-process.md")
    pattern = attempt(1, "build", path, "did 1") + attempt(2, "build", path, "did 2")
    pattern += attempt(3, "build", path, "did 3", f"all done {COMPLETE}") + r"(.*\n){4}"
    assert re.fullmatch(pattern + ending(3, "completion signal"), built.stdout), built.stdout
    assert "| Run 'ralph align-specs'" in built.stdout
    assert ralph.log() == built.stdout
    (name,) = (path.name for path in (ralph.home / "logs").glob("*.log"))
    assert re.fullmatch(r"session-\d{8}-\d{6}-build\.log", name)
    assert (ralph.home / "last_agent_output").read_text() == f"TEXT:did 3\nTEXT:all done {COMPLETE}\n"


def test_what_a_bare_run_does(ralph: Ralph) -> None:
    ralph.answer("any", f"say '{COMPLETE}'")
    ralph.write(".ralph/implementation_plan.md", "# Plan\n")
    assert "plan (" in ralph.run("run").stderr
    ralph.plan()
    assert "build (" in ralph.run("run").stderr
    plan, build = ralph.prompts()
    assert plan.startswith("prompt plan of plan")
    assert build.startswith("prompt build\n# Plan\n\nPlan Type: standard\n")
    assert "## Section A\n  8:### Task 1: one\n  9:**Status:** planned\n" in build


def test_prompt_mode(ralph: Ralph) -> None:
    ralph.answer(2, f"say '{COMPLETE}'")
    ralph.write("docs/my.md", f"Say {COMPLETE} in ${{SPECS_DIR}} of $RALPH_HOME, keep $5 and $(date)\n")
    done = ralph.run("run", "prompt", "docs/my.md", "5")
    assert done.returncode == 0, done.stderr
    assert "mode: prompt  prompt: docs/my.md\n" in done.stdout
    assert ralph.prompts() == [f"Say {COMPLETE} in specs of .ralph, keep $5 and $(date)\n"] * 2


def test_plan_from_process_files(ralph: Ralph) -> None:
    ralph.config("PROCESS_DIR=process")
    ralph.write("process/one.md", "x" * 3000)
    ralph.write(".ralph/prompts/plan-process.md", "$PROCESS_DIR: $SPEC_VOLUME_HINT\n")
    ralph.answer("any", f"say '{COMPLETE}'; say \"$SPEC_VOLUME_HINT\"")
    for words in (("plan", "--process"), ("--process", "plan", "3")):
        done = ralph.run("run", *words)
        assert done.returncode == 0, done.stderr
        assert "(1 file, 2 KB): you will likely complete planning in one iteration" in done.stdout
    assert all(prompt.startswith("process: The process spec") for prompt in ralph.prompts())


def test_programs_see_what_the_controller_exports(ralph: Ralph) -> None:
    ralph.plan("process")
    ralph.answer(
        "any", 'say "$MODE $SPECS_DIR $RALPH_HOME $(echo "$SELECTED_TASK" | head -n 1) ${RALPH_DIR-unset}"'
    )
    done = ralph.run("run", "build", "1", "-q")
    assert done.stdout == "build specs .ralph ### Task 1: one unset\n", done.stderr


def test_bytes_that_are_no_text_survive(ralph: Ralph) -> None:
    (ralph.home / "prompts/plan.md").write_bytes(b"\xff $MODE \xe4 end\n")
    ralph.answer("any", 'say "$prompt"')
    done = ralph.raw("run", "plan", "1", "-q")
    assert done.stdout == b"\xff plan \xe4 end\n", done.stderr
    (log,) = (ralph.home / "logs").glob("session-*.log")
    assert b"\n\xff plan \xe4 end\n" in log.read_bytes()


def test_align_specs(ralph: Ralph) -> None:
    ralph.config("PROCESS_DIR=process")
    ralph.plan("process", PLAN.format(kind="process").replace("planned", "complete", 1))
    ralph.answer("any", f"say '{COMPLETE}'")
    done = ralph.run("run", "align-specs")
    assert done.returncode == 0, done.stderr
    assert ralph.prompts() == ["prompt align-specs of align-specs\n"]
    assert list((ralph.home / "logs").glob("session-*-align-specs.log"))


def test_a_project_at_the_root(ralph: Ralph) -> None:
    for path in list(ralph.home.iterdir()):
        path.rename(ralph.folder / path.name)
    ralph.home.rmdir()
    ralph.write("prompts/plan.md", "home is $RALPH_HOME\n")
    ralph.answer("any", f"say '{COMPLETE}'")
    done = ralph.run("run", "plan")
    assert done.returncode == 0, done.stderr
    assert ralph.prompts() == ["home is .\n"]


def test_from_elsewhere_with_a_prompt_of_the_users(ralph: Ralph) -> None:
    ralph.write("elsewhere/mine.md", f"mine, {COMPLETE}\n")
    ralph.answer("any", f"say '{COMPLETE}'")
    command = 'cd elsewhere && exec "$@" run prompt mine.md --project ..'
    done = ralph.shell(command)
    assert done.returncode == 0, done.stderr
    assert ralph.prompts() == [f"mine, {COMPLETE}\n"]


def test_dry_run_shows_the_first_prompt_and_writes_nothing(ralph: Ralph) -> None:
    ralph.plan("process")
    before = sorted(os.listdir(ralph.home))
    done = ralph.run("run", "build", "7", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("prompt build-process\n### Task 1: one\n")
    assert "mode: build" in done.stderr
    assert "iterations: 7" in done.stderr
    assert sorted(os.listdir(ralph.home)) == before
    assert ralph.prompts() == []


def test_options(ralph: Ralph) -> None:
    other = ralph.write("other/mine.sh", (ralph.home / "agents/amp.sh").read_text()).parent
    assert other.is_dir()
    ralph.write(".ralph/agents/second.sh", (ralph.home / "agents/amp.sh").read_text())
    ralph.write(".ralph/prompts/plan.md", "$AGENT $EXTRA\n")
    for agent in ("second", "other/mine.sh"):
        done = ralph.run("run", "plan", "--agent", agent, "--max-iterations", "1", "--set", "EXTRA=it's", "-q")
        assert (done.returncode, done.stdout) == (0, "working\n"), done.stderr
    assert ralph.prompts() == ["second it's\n", "mine it's\n"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--driver", "codex"], "--driver does not apply to a ralph-loop setup"),
        (["--prompt", "x"], "--prompt does not apply"),
        (["--no-live"], "--live does not apply"),
        (["--setup", "nonesuch"], "there is no such setup; known: bmalph, ralph-loop"),
        (["--max-iterations", "0"], "--max-iterations"),
    ],
)
def test_options_that_do_not_apply(ralph: Ralph, options: list[str], said: str) -> None:
    done = ralph.run("run", "plan", *options)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_words_and_options_of_agents_where_there_is_no_such_setup(ralph: Ralph) -> None:
    shutil.rmtree(ralph.home)
    ralph.write("PROMPT.md", "x")
    done = ralph.run("run", "plan")
    assert (done.returncode, "there is no controller" in done.stderr) == (2, True), done.stderr
    for option in ("--strict-compat", "--no-lift", "--process"):
        assert f"{option} does not apply" in ralph.run("run", option).stderr


def test_help_without_and_with_texts_of_the_setup(ralph: Ralph) -> None:
    done = ralph.run("run", "help", "plan")
    assert (done.returncode, done.stdout.startswith("Usage: ralph plan [N]"), done.stderr) == (0, True, "")
    ralph.write(".ralph/lib/help/plan.txt", "about plan\n")
    ralph.write(".ralph/lib/help/index.txt", "the index\n")
    for words, out, err in (("help", "the index\n", ""), ("help plan", "about plan\n", "")):
        done = ralph.run("run", *words.split())
        assert (done.returncode, done.stdout, done.stderr) == (0, out, err)
    done = ralph.run("run", "help", "nonsense")
    assert (done.returncode, done.stdout, done.stderr) == (0, "the index\n", "Unknown help topic: nonsense\n")
