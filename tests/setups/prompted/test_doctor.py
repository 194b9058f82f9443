"""``doctor`` where a script gives a prompt to a CLI: its checks, what is wrong with its next step, ``--fix``."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups.prompted.doctor import CHECKS, SCRIPTED_CHECKS
from tests.examples import Example, lives, project, until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.examples import MakeProject, Project

STORIES = '{"userStories": [{"title": "one", "passes": true}, {"title": "two", "passes": false}]}\n'
SCRIPT = """\
#!/bin/bash
set -e
for turn in 1 2; do
  out=$(claude --print < "$(dirname "$0")/CLAUDE.md" 2>&1)
done
"""
EXAMPLE = Example(
    name="doctor",
    setup="snarktank",
    files={
        "scripts/ralph/ralph.sh": SCRIPT,
        "scripts/ralph/CLAUDE.md": "Do the next story.\n",
        "scripts/ralph/prd.json": STORIES,
    },
    words=("run", "--no-live"),
    ended="",
)


@pytest.fixture
def loops(tmp_path: Path) -> Iterator[Project]:
    with project(EXAMPLE, tmp_path / "doctor") as made:
        made.git("config", "user.name", "t")
        made.git("config", "user.email", "t@example.org")
        yield made


def look(
    loops: Project, *options: str, checks: Mapping[str, object] = SCRIPTED_CHECKS
) -> dict[str, tuple[str, str, str]]:
    """Status, detail and next step of each check; their order is that of the table."""
    done = loops.run("doctor", "--json", *options)
    results = {each["id"]: each for each in json.loads(done.stdout)["results"]}
    assert list(results) == list(checks)
    assert done.returncode == ("failed" in {each["status"] for each in results.values()})
    return {name: (each["status"], each["detail"], each["hint"]) for name, each in results.items()}


def test_a_good_setup(loops: Project) -> None:
    loops.git("config", "user.name", "t")
    loops.git("config", "user.email", "t@example.org")
    loops.env["RALPH_BRIDGE_RUN_PROJECT_CODE"] = ""
    unlooked = look(loops)["cli-available"]  # the CLI of this test lies in the project
    assert unlooked[:2] == (
        "warning",
        "not looked at: claude is a program of the project's; --run-project-code has it run",
    )
    found = look(loops, "--run-project-code", "--fix")
    assert {name: each for name, each in found.items() if each[0] != "passed"} == {}
    assert found["plan"][1] == "1 of 2 stories done"
    assert found["ralph-project"][1] == "scripts/ralph/ralph.sh, /bin/bash"
    call = "claude --print"
    assert found["calls"][1] == f"scripts/ralph/ralph.sh:4: {call}: a turn, with the host behind it"
    assert loops.run("adopt").returncode == 0
    assert look(loops)["calls"][0] == "passed"


def test_a_cli_that_lies_in_the_project_is_named_as_such(loops: Project) -> None:
    loops.env["RALPH_BRIDGE_RUN_PROJECT_CODE"] = ""
    why = "not looked at: claude is a program of the project's; --run-project-code has it run"
    assert look(loops)["cli-available"][:2] == ("warning", why)
    loops.write("scripts/ralph/ralph.sh", SCRIPT.replace("claude --print", "amp --dangerously-allow-all"))
    assert look(loops)["cli-available"][:2] == ("failed", "amp is not on PATH")


def test_a_plan_that_can_not_be_read_is_one_failure(loops: Project) -> None:
    loops.write("scripts/ralph/prd.json", STORIES.replace("}, {", "} {"))
    found = look(loops)
    assert found["plan"][:2] == ("failed", "scripts/ralph/prd.json:1:51: no JSON: Expecting ',' delimiter")
    assert found["cli-available"][0] == "passed"


def test_what_a_run_would_end_with_is_said(loops: Project) -> None:
    (loops.path / "scripts/ralph/CLAUDE.md").unlink()
    found = look(loops)
    assert found["prompt"][0] == "failed"
    assert loops.run("run").stderr.startswith(f"ralph-bridge: error: {found['prompt'][1]}")
    loops.write("scripts/ralph/CLAUDE.md", "Do it.\n")
    loops.write("scripts/ralph/ralph.sh", SCRIPT.replace("claude --print", "amp --dangerously-allow-all"))
    assert look(loops, "--run-project-code")["cli-available"][:2] == ("failed", "amp is not on PATH")


def test_the_original_at_work_is_named(loops: Project) -> None:
    loops.write("scripts/ralph/ralph.sh", "#!/bin/bash\necho > up\nread -r _ < go\n")
    os.mkfifo(loops.path / "go")
    with subprocess.Popen(["bash", "scripts/ralph/ralph.sh"], cwd=loops.path) as original:
        until((loops.path / "up").exists)
        found = look(loops)["second-loop"]
        (loops.path / "go").write_text("\n")
    assert found[:2] == ("failed", f"ralph.sh is running here by itself: process {original.pid}")
    assert look(loops)["second-loop"][0] == "passed"


def test_a_loop_at_work_is_no_failure(loops: Project) -> None:
    loops.turns("hang")
    loop = loops.hanging()
    found = look(loops)
    assert found["second-loop"][1].startswith(f"a loop is at work: process {loop.pid}")
    assert (found["loop-lock"][1], found["status-file"][1]) == ("held by a loop", "loop 1, running")
    assert look(loops, "--fix")["orphaned-agents"] == ("passed", "a loop is at work", "")
    assert lives(loops.pid(1))


def test_agents_without_a_loop_are_ended(loops: Project) -> None:
    (loops.path / ".ralph").mkdir()
    env = loops.environment(RALPH_BRIDGE_PROJECT=str(loops.path))
    with subprocess.Popen(["sleep", "600"], env=env, start_new_session=True) as left:
        try:
            assert look(loops)["orphaned-agents"][0] == "failed"
            assert left.poll() is None
            assert look(loops, "--fix")["orphaned-agents"][0] == "passed"
            assert left.wait(10) < 0
        finally:
            left.kill()


def test_a_setup_without_a_script_and_with_nothing_left_to_do(make_project: MakeProject) -> None:
    loops = make_project("ralphy")
    loops.write("PRD.md", "- [x] one\n")
    found = look(loops, checks=CHECKS)
    assert found["plan"][:2] == ("warning", "the only task is done: a run ends at once")
    assert found["prompt"][:2] == ("passed", "PRD.md")
