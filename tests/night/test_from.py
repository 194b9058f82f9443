"""Tasks of a source, one loop after the other, in every kind of setup."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.setups import kinds
from tests.examples import AGENT
from tests.machine import NO_PROVIDER
from tests.night.conftest import each_loop
from tests.sandbox.boxes import usable
from tests.tasks.stand_ins.trackers import Gh

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Loop, MakeProject, Project

TASKS = """\
- {id: one, prompt: "Write the one file."}
- {id: two, prompt: "Write the two file.", needs: [three]}
- {id: three, prompt: "Write the three file."}
"""
PLANS = (
    ".ralph/@fix_plan.md .ralph/fix_plan.md fix_plan.md IMPLEMENTATION_PLAN.md PRD.md scripts/ralph/prd.json"
    " .ralph/.ralph_bridge.task.md"
)
STEP = r"""
all="$* $(timeout 5 cat; cat @PLANS@ 2>/dev/null)"
name=""
for each in one two three; do case $all in *"the $each file"*) name="$name$each" ;; esac; done
echo "$name" >> "$kept/tasks"
before=$(cat "$kept/behind.$name" 2>/dev/null); echo x >> "$kept/behind.$name"
touched
case $name in
    one) @ONE@ ;;
    two) @TWO@ ;;
    three) @THREE@ ;;
    *) fail ;;
esac
"""
SOURCE = "yaml:tasks.yaml"
ISSUES = "github:acme/app"
SEED = 29


def words(night: Project, source: str = SOURCE) -> list[str]:
    """The options of a loop of its kind, whatever command that has."""
    given = [*night.example.words]
    kept = [
        f"{each}" for name in ("--driver", "--agent") if name in given for each in given[given.index(name) :][:2]
    ]
    live = ["--no-live"] if "live" in kinds()[night.example.setup].options else []
    return ["run", "--from", source, "--setup", night.example.setup, *live, *kept]


def prepared(night: Project, **steps: str) -> dict[str, bytes]:
    """A project with three tasks, and what its files hold."""
    night.write("tasks.yaml", TASKS)
    step = STEP.replace("@PLANS@", PLANS)
    for name in ("one", "two", "three"):
        step = step.replace(f"@{name.upper()}@", steps.get(name, night.example.done))
    night.turns(otherwise=step)
    night.git("add", "-A")
    night.git("commit", "-qm", "tasks")
    return {name: (night.path / name).read_bytes() for name in night.example.files}


def start(night: Project, *more: str, source: str = SOURCE) -> Loop:
    return night.start(*more, example=replace(night.example, words=tuple(words(night, source))))


def order(night: Project) -> list[str]:
    """The tasks that turns were about, each once where it follows itself."""
    path = night.kept / "tasks"
    found = path.read_text().split("\n")[:-1] if path.exists() else []
    return [each for number, each in enumerate(found) if found[:number][-1:] != [each]]


def record(night: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((night.state / ".ralph_bridge.tasks.json").read_text())
    return found


def outcomes(night: Project) -> dict[str, str]:
    return {each["id"]: each["outcome"] for each in record(night)["tasks"].values()}


def as_before(night: Project, files: dict[str, bytes]) -> None:
    """The user's own files are what they were, and git knows of no difference in them."""
    for name, was in files.items():
        assert (night.path / name).read_bytes() == was, name
    assert not {line[3:] for line in night.git("status", "--short").splitlines()} & files.keys()
    assert not [line for line in night.git("ls-files", "-v").splitlines() if line.startswith("h ")]


def test_each_task_has_the_plan_alone_and_the_users_own_comes_back(night: Project) -> None:
    files = prepared(night)
    loop = start(night, "--max-iterations", "4")
    assert loop.finished() == 0, loop.said
    assert order(night) == ["one", "three", "two"], loop.said
    assert "task 2 of 3: Write the three file." in loop.said
    assert "3 of 3 tasks done (tasks_done)" in loop.said
    as_before(night, files)
    night.readable()
    assert [*outcomes(night).values()] == ["done"] * 3
    assert night.status()["task"] == "task 3 of 3: Write the two file."
    again = start(night)
    assert again.finished() == 0, again.said
    assert order(night) == ["one", "three", "two"], "what is done isn't done again"


@each_loop
def test_a_task_that_is_not_done_stays_and_what_waits_for_it_is_not_begun(night: Project) -> None:
    files = prepared(night, three="fail")
    loop = start(night, "--max-iterations", "2")
    assert loop.finished() == 1, loop.said
    assert order(night) == ["one", "three"], loop.said
    assert outcomes(night) == {"one": "done", "three": "failed"}
    assert "1 of 3 tasks done; Write the three file. isn't (" in loop.said
    assert "Write the two file. waits for Write the three file." in loop.said
    as_before(night, files)
    again = start(night, "--max-iterations", "2", "--stop-on-failure")
    assert again.finished() == 1, again.said
    assert order(night) == ["one", "three"], "asked for again, it is tried again, and nothing else"
    assert outcomes(night)["three"] == "failed"


KILLED = (
    'if [ -z "$before" ]; then sed -i "1i ticked by the agent" $(ls @PLANS@ 2>/dev/null); hang; else @DONE@; fi'
)


@each_loop
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda by: by.name)
def test_what_is_killed_in_the_second_task_goes_on_there(night: Project, by: signal.Signals) -> None:
    files = prepared(night, three=KILLED.replace("@PLANS@", PLANS).replace("@DONE@", night.example.done))
    loop = start(night, "--max-iterations", "4")
    loop.until(
        lambda: any((night.kept / "turn.2", night.kept / "turn.3")) and hangs(night), "the second task hangs"
    )
    os.kill(loop.pid, by)
    status = loop.process.wait()
    if by is not signal.SIGKILL:
        assert status == 128 + by, loop.said
        as_before(night, files)
    assert outcomes(night) == {"one": "done", "three": ""}
    again = start(night, "--max-iterations", "4")
    assert again.finished() == 0, again.said
    assert "the run of before goes on: 1 of 3 tasks done" in again.said
    assert order(night) == ["one", "three", "two"]
    as_before(night, files)


@each_loop
def test_a_cli_that_is_away_between_two_tasks_is_waited_for(night: Project) -> None:
    prepared(
        night,
        one=f"[ -e $kept/away ] || {{ touch $kept/away; mv bin/claude bin/claude.new; }}; {night.example.done}",
    )
    loop = night.start(example=replace(night.example, words=tuple(words(night))), RALPH_BRIDGE_ABSENT_SECONDS="20")
    loop.until(lambda: "is looked for again for up to" in loop.said, "it is looked for again")
    (night.path / "bin/claude.new").rename(night.path / "bin/claude")
    assert loop.finished() == 0, loop.said
    assert set(outcomes(night).values()) == {"done"}, loop.said


def hangs(night: Project) -> bool:
    return any(night.of_turn(number, "hangs") for number in range(1, night.begun() + 1))


@each_loop
def test_after_a_kill_a_plain_run_has_the_users_plan_again(night: Project) -> None:
    files = prepared(night, one="hang")
    loop = start(night)
    loop.until(lambda: hangs(night), "it hangs")
    changed = {name for name, was in files.items() if (night.path / name).read_bytes() != was}
    assert changed or not plan_of(night)
    assert night.status()["aside"] == []  # somebody is there who puts it back
    loop.kill()
    assert changed <= {*night.status()["aside"]} <= {*files}, night.status()
    night.turns(otherwise="fail")
    night.start("--max-iterations", "1").finished()
    assert night.status()["aside"] == []
    if night.example.setup != "wiggum":  # whose own loop brings its plan up to date
        as_before(night, files)


def plan_of(night: Project) -> bool:
    return any((night.path / name).is_file() for name in night.example.kind.plan.files)


@each_loop
def test_an_agent_that_spoils_what_is_kept_changes_nothing_of_the_users(night: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("not yours\n")
    kept = night.state / ".ralph_bridge.tasks"
    spoil = f"""
        for each in {kept}/users/*; do rm -f "$each"; ln -s {outside} "$each"; done
        echo '{{"away": {{"../../outside": ""}}}}' > {kept}/aside.json
        echo '{{"source": "{SOURCE}", "run": "x", "under_way": "", "tasks": 7}}' > {kept}.json
        for each in {PLANS}; do [ -e "$each" ] && rm "$each" && ln -s {outside} "$each"; done
        mkdir -p .ralph
    """
    files = prepared(night, three=f"{spoil}\n{night.example.done}")
    loop = start(night, "--max-iterations", "3")
    loop.finished()
    assert outside.read_text() == "not yours\n"
    assert [outcomes(night)[each] != "" for each in ("one", "three")] == [True, True], loop.said
    as_before(night, files)


@each_loop
def test_outside_of_a_repository_it_works_as_well(night: Project) -> None:
    files = prepared(night)
    (night.path / ".git").rename(night.path / "was.git")
    loop = start(night, "--max-iterations", "4")
    if night.example.setup in ("bmalph", "ralph-loop"):  # whose own loops want one
        assert loop.finished() in (1, 2)
        assert "git" in loop.said
    else:
        assert loop.finished() == 0, loop.said
        assert order(night) == ["one", "three", "two"]
    for name, was in files.items():
        assert (night.path / name).read_bytes() == was


@each_loop
def test_a_check_and_a_tool_that_stands_in_go_with_it(night: Project) -> None:
    night.write("bin/other.sh", AGENT)
    tool = "agent:bin/other.sh" if night.example.agent else "driver:claude-code@opus"
    files = prepared(night, one=f'if [ -z "$before" ]; then limited 3600; else {night.example.done}; fi')
    more = ("--fallback", tool, "--check", 'echo x >> "$PWD/checked"; test -s work.txt')
    loop = start(night, "--max-iterations", "6", *more)
    assert loop.finished() == 0, loop.said
    assert order(night) == ["one", "three", "two"]
    assert (night.path / "checked").read_text().count("x") >= 3
    as_before(night, files)


@pytest.mark.parametrize("kind", ["plain", "snarktank", "frankbria"])
def test_dry_run_lists_the_tasks_and_leaves_everything(kind: str, make_project: MakeProject) -> None:
    night = make_project(kind)
    files = prepared(night)
    before = sorted(str(each) for each in night.path.rglob("*") if ".git/" not in str(each))
    seen = night.run(*words(night), "--dry-run")
    assert seen.returncode == 0, seen.stderr
    listed = [line for line in seen.stderr.splitlines() if line.startswith("open: ")]
    assert [line.split()[1] for line in listed] == ["one", "three", "two"]
    assert ("claude" in seen.stdout) is (kind != "frankbria")
    assert sorted(str(each) for each in night.path.rglob("*") if ".git/" not in str(each)) == before
    as_before(night, files)


# -- what is the same in every kind: tried in one ----------------------------------------------------------


@pytest.fixture
def plain(make_project: MakeProject) -> Project:
    return make_project("plain")


@pytest.fixture
def gh(plain: Project, tmp_path: Path) -> Gh:
    made = Gh(tmp_path)
    for name, body in (("one", ""), ("two", "Blocked by #3."), ("three", "")):
        made.add(f"Write the {name} file.", body)
    plain.env["PATH"] = f"{plain.path / 'bin'}:{made.bin}:{os.environ['PATH']}"
    return made


def comments(gh: Gh, number: int) -> list[str]:
    return [each["body"].splitlines()[1] for each in gh.issue(number)["comments"]]


@pytest.mark.parametrize("how", ["comment", "close"])
def test_the_source_is_told_once_whenever_the_host_is_killed(how: str, plain: Project, gh: Gh) -> None:
    prepared(plain)
    for when in ("issue comment", "issue view"):
        gh.fail("kill", when, after=True)
    for _ in range(3):
        loop = start(plain, "--max-iterations", "3", "--write-back", how, source=ISSUES)
        if loop.process.wait() == 0:
            break
    assert loop.process.returncode == 0, loop.said
    assert order(plain)[0] == "one"
    assert [[each for each in comments(gh, number) if "done" in each] for number in (1, 2, 3)] == [
        ["ralph-bridge: done"]
    ] * 3
    assert {gh.issue(number)["state"] for number in (1, 2, 3)} == {"CLOSED" if how == "close" else "OPEN"}


def test_a_network_that_is_gone_ends_no_run_and_is_tried_again(plain: Project, gh: Gh) -> None:
    prepared(plain)
    gh.fail("network", "issue comment", times=2)
    loop = start(plain, "--max-iterations", "3", "--write-back", "comment", source=ISSUES)
    assert loop.finished() == 0, loop.said
    assert "note: the source can't be told that Write the one file. (#1) is done" in loop.said
    assert [len(comments(gh, number)) for number in (1, 2, 3)] == [1, 1, 1]


def test_an_issue_that_is_closed_meanwhile_is_left_out(plain: Project, gh: Gh) -> None:
    store = gh._store
    closes = f"""sed -i 's/"OPEN"/"CLOSED"/g' {store}"""
    prepared(plain, one=f"{closes}; {plain.example.done}")
    loop = start(plain, "--max-iterations", "3", source=ISSUES)
    assert loop.finished() == 0, loop.said
    assert order(plain) == ["one"]
    assert "Write the three file. (#3) is left out" in loop.said
    assert "1 of 1 task done" in loop.said


def test_caps_are_for_all_tasks_and_a_higher_one_goes_on(plain: Project) -> None:
    files = prepared(plain, one=f'if [ -z "$before" ]; then work; else {plain.example.done}; fi')
    loop = start(plain, "--max-cost", "0.6")  # 0.25 a turn: two for the first task
    assert loop.finished() == 1, loop.said
    assert order(plain) == ["one", "three"], loop.said
    assert "(max_cost)" in loop.said.splitlines()[-1]
    assert outcomes(plain) == {"one": "done", "three": "done"}
    as_before(plain, files)
    again = start(plain, "--max-cost", "2")
    assert again.finished() == 0, again.said
    assert order(plain) == ["one", "three", "two"]


def test_another_loop_is_kept_out_all_the_while(plain: Project) -> None:
    prepared(plain, two="hang")
    loop = start(plain)
    loop.until(lambda: hangs(plain), "the last task hangs")
    shown = plain.run("status").stdout
    assert "task:" in shown
    assert "3 of 3: Write the two file." in shown
    for other in (words(plain), ["run", "--no-live"]):
        refused = plain.run(*other)
        assert refused.returncode == 4
        assert "another loop is running" in refused.stderr
    os.kill(loop.pid, signal.SIGTERM)
    assert loop.finished() == 143
    told = plain.run("report", "--format", "json")
    assert json.loads(told.stdout)["runs"][-1]["task"] == "task 3 of 3: Write the two file."


@pytest.mark.parametrize("kind", ["plain", "bmalph", "snarktank", "ralph-loop", "wiggum"])
def test_in_a_box_the_agent_cannot_reach_what_is_kept(
    kind: str, make_project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RALPH_BRIDGE_TEST_BOX", "bwrap")
    night = make_project(kind)
    if usable("bwrap", tmp_path / "conf") is None:
        pytest.skip(f"bwrap: {NO_PROVIDER}")
    spoil = 'for each in $(find . -path "*ralph_bridge.tasks*"); do echo spoilt > "$each"; rm -rf "$each"; done'
    files = prepared(night, one=f"{spoil}; {night.example.done}")
    loop = start(night, "--max-iterations", "4")
    assert loop.finished() == 0, loop.said
    assert order(night) == ["one", "three", "two"]
    as_before(night, files)


def test_the_projects_own_plan_is_a_source_too_and_is_ticked(plain: Project, tmp_path: Path) -> None:
    prepared(plain)
    plan = "# Mine\n\n- [ ] Write the one file.\n- [x] old\n- [ ] Write the two file.\n  with care\n"
    plain.write(".ralph/@fix_plan.md", plan)
    tick = "sed -i 's/- \\[ \\]/- [x]/' .ralph/@fix_plan.md; say done"
    plain.turns(otherwise=(plain.kept / "steps/else").read_text().replace(plain.example.done, tick))
    loop = start(plain, "--max-iterations", "2", "--write-back", "close", source="plan:.ralph/@fix_plan.md")
    assert loop.finished() == 0, loop.said
    assert order(plain) == ["one", "two"]
    assert (plain.path / ".ralph/@fix_plan.md").read_text() == plan.replace("[ ]", "[x]")


@pytest.mark.parametrize("kind", ["plain", "bmalph", "wiggum", "snarktank"])
def test_kills_at_any_moment_lose_nothing(kind: str, make_project: MakeProject) -> None:
    """Each task is done in the end, by its own loop, and the user's files are as they were."""
    night, chosen = make_project(kind), random.Random(SEED)
    files = prepared(night)
    loop = None
    for _ in range(12):
        loop = start(night, "--max-iterations", "4")
        with suppress(subprocess.TimeoutExpired):
            loop.process.wait(chosen.uniform(0.3, 3.0))
            break
        loop.kill()
    else:
        loop = start(night, "--max-iterations", "4")
    assert loop.finished() == 0, loop.said
    assert set(order(night)) == {"one", "three", "two"}
    assert [*outcomes(night).values()] == ["done"] * 3
    as_before(night, files)
