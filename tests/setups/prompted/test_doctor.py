"""``doctor`` where a script gives a prompt to a CLI: its checks, what is wrong with its next step, ``--fix``."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.setups.prompted.doctor import CHECKS
from tests.examples import Example, lives, project, until

if TYPE_CHECKING:
    from collections.abc import Iterator
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
        yield made


def look(loops: Project, *options: str) -> dict[str, tuple[str, str, str]]:
    """Status, detail and next step of each check; their order is that of the table."""
    done = loops.run("doctor", "--json", *options)
    results = {each["id"]: each for each in json.loads(done.stdout)["results"]}
    assert list(results) == list(CHECKS)
    assert done.returncode == ("failed" in {each["status"] for each in results.values()})
    return {name: (each["status"], each["detail"], each["hint"]) for name, each in results.items()}


def test_a_good_setup(loops: Project) -> None:
    found = look(loops, "--fix")
    assert {name: each for name, each in found.items() if each[0] != "passed"} == {}
    assert found["plan"][1] == "1 of 2 stories done"
    prompt = found["prompt"][1].splitlines()
    assert prompt[0].startswith("scripts/ralph/CLAUDE.md, ")
    assert prompt[1] == "claude, as scripts/ralph/ralph.sh:4 calls it"
    faults = found["known-faults"][1].splitlines()
    assert len(faults) == 5
    assert (
        "scripts/ralph/ralph.sh:4: a CLI that fails once ends the loop (set -e); here the next turn follows"
        in faults
    )
    assert found["ralph-project"][1].endswith("the original (`ralph-bridge adopt` stands in for it)")
    assert loops.run("adopt").returncode == 0
    found = look(loops)
    assert found["ralph-project"][1].endswith("scripts/ralph/ralph.sh: ralph-bridge stands in for it")
    assert "scripts/ralph/ralph.sh.original:4: " in found["known-faults"][1]


def test_a_plan_that_can_not_be_read_is_one_failure(loops: Project) -> None:
    loops.write("scripts/ralph/prd.json", STORIES.replace("}, {", "} {"))
    found = look(loops)
    assert found["plan"][:2] == ("failed", "scripts/ralph/prd.json:1:51: no JSON: Expecting ',' delimiter")
    skipped = {
        name for name, each in found.items() if each[:2] == ("warning", "not looked at: the plan can't be read")
    }
    assert skipped == {"prompt", "driver", "driver-contract", "cli-available", "cli-version", "cli-drift"}
    loops.write("scripts/ralph/prd.json", STORIES.replace("false", "true"))
    assert look(loops)["plan"] == ("warning", "all 2 stories are done: a run ends at once", "add an open story")


def test_what_a_run_would_end_with_is_said(loops: Project) -> None:
    (loops.path / "scripts/ralph/CLAUDE.md").unlink()
    found = look(loops)
    assert found["prompt"][0] == "failed"
    assert loops.run("run").stderr.startswith(f"ralph-bridge: error: {found['prompt'][1]}")
    loops.write("scripts/ralph/CLAUDE.md", "Do it.\n")
    loops.write("scripts/ralph/ralph.sh", SCRIPT.replace("claude --print", "amp --dangerously-allow-all"))
    found = look(loops)
    assert (found["driver"][:2], found["driver-contract"][0]) == (("passed", "amp: amp"), "passed")
    assert found["cli-available"][:2] == ("failed", "amp is not on PATH")
    assert found["cli-available"][2].endswith("or, with another CLI: ralph-bridge run --driver claude-code")


def test_the_original_at_work_is_named(loops: Project) -> None:
    loops.write("scripts/ralph/ralph.sh", "#!/bin/bash\necho > up\nread -r _ < go\n")
    os.mkfifo(loops.path / "go")
    with subprocess.Popen(["bash", "scripts/ralph/ralph.sh"], cwd=loops.path) as original:
        until((loops.path / "up").exists)
        found = look(loops)["second-loop"]
        (loops.path / "go").write_text("\n")
    assert found[:2] == ("failed", f"the original ralph.sh is running here: process {original.pid}")
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
    found = look(loops)
    assert found["plan"][:2] == ("warning", "the only task is done: a run ends at once")
    assert (found["prompt"][:2], found["known-faults"][1]) == (("passed", "PRD.md"), "there is no script")
