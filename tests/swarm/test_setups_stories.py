"""Swarms in setups whose controller gives a prompt to a CLI: which tasks they have, what merges leave of notes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.swarm.families import BOTH, PLAYBOOK, POCOCK, make, prd, snarktank, story
from tests.swarm.projects import HOLD, until

if TYPE_CHECKING:
    from tests.swarm.projects import Project

PRD, PROGRESS = "scripts/ralph/prd.json", "scripts/ralph/progress.txt"


def outcomes(project: Project) -> list[str | None]:
    return [each["outcome"] for each in project.seen()["tasks"]]


def blob(project: Project, name: str) -> str:
    """A file on the swarm's branch, every byte of it."""
    branch = project.seen()["branch"]
    return project.git("cat-file", "blob", f"{branch}:{name}")


def learnt(project: Project, name: str = PROGRESS) -> list[str]:
    """Whose notes are on the swarm's branch, each in one piece."""
    return sorted(re.findall(r"^## (\d\d).*\n- what was learnt\n---$", blob(project, name), re.MULTILINE))


# -- snarktank -------------------------------------------------------------------------------------------


def test_stories_are_tasks_and_two_at_once_do_not_conflict(project: Project) -> None:
    text = snarktank(
        project,
        story(1, f"{BOTH}; echo 1 > one.txt"),
        story(2, "cat one.txt > two.txt", dependsOn=["US-1"]),
        story(3, f"{BOTH}; echo 3 > three.txt"),
        story(4, "cat two.txt three.txt > four.txt", dependsOn=["US-2", "US-3"]),
        **{"progress.txt": "# Log\n---\n"},
    )
    before = project.git("rev-parse", "HEAD")
    done = project.swarm("run", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.outcomes() == {f"US-{number} Story {number}": "merged" for number in (1, 2, 3, 4)}
    assert project.result("four.txt") == "1\n3"
    assert blob(project, PRD) == text.replace('"passes": false', '"passes": true')
    assert blob(project, PROGRESS).startswith("# Log\n---\n")
    assert learnt(project) == ["01", "02", "03", "04"]
    names = project.git("diff", "--name-only", before, project.seen()["branch"]).splitlines()
    assert names == ["four.txt", "one.txt", PRD, PROGRESS, "three.txt", "two.txt"]
    assert (project.git("rev-parse", "HEAD"), project.git("status", "--porcelain")) == (before, "")
    assert "ralph/feature" not in project.git("for-each-ref", "--format=%(refname)", "refs/heads")
    assert len(project.started()) == 4, "each had one turn"


def test_a_log_that_two_begin_has_what_both_wrote(project: Project) -> None:
    snarktank(project, *(story(number, f"{BOTH}; echo {number} > {number}.txt") for number in (1, 2)))
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert learnt(project) == ["01", "02"]
    assert blob(project, PROGRESS).count("# Ralph Progress Log") == 1


@pytest.mark.slow
def test_priorities_say_who_is_first_and_a_done_story_is_nobody_s(project: Project) -> None:
    stories = story(1, "exit 9", passes=True), story(2, "echo 2 > two.txt", 7), story(3, "echo 3 > three.txt", 5)
    text = snarktank(project, *stories)
    assert project.swarm("run", "-j", "1").returncode == 0
    assert [name[3:7] for name in project.started()] == ["us-3", "us-2"]
    assert blob(project, PRD) == text.replace('"passes": false', '"passes": true')


@pytest.mark.slow
def test_a_story_that_fails_stays_open_and_those_that_need_it_wait_for_its_retry(project: Project) -> None:
    needs = story(2, "cat 1.txt > 2.txt", dependsOn=["US-1"])
    text = snarktank(
        project, story(1, 'test -e "$NOTES/mended" && echo 1 > 1.txt'), needs, story(3, "echo > 3.txt")
    )
    done = project.swarm("run", "--", "--max-failures", "1")
    assert done.returncode == 1
    assert outcomes(project) == ["incomplete", "skipped", "merged"]
    assert blob(project, PRD).count('"passes": true') == 1
    (project.notes / "mended").touch()
    assert project.swarm("resume", "--retry", "incomplete").returncode == 0
    assert outcomes(project) == ["merged"] * 3
    assert blob(project, PRD) == text.replace('"passes": false', '"passes": true')


@pytest.mark.slow
def test_a_story_that_fails_the_check_stays_open(project: Project) -> None:
    snarktank(project, story(1, "echo bad > 1.txt"), story(2, "echo good > 2.txt"))
    done = project.swarm("run", "-j", "1", "--check", "! grep -rs bad *.txt")
    assert done.returncode == 1
    assert outcomes(project) == ["check failed", "merged"]
    assert blob(project, PRD).count('"passes": true') == 1
    assert learnt(project) == ["02"]


@pytest.mark.slow
def test_a_conflict_in_the_work_is_one_and_the_story_is_redone_with_what_came_before(project: Project) -> None:
    snarktank(project, *(story(number, f"{BOTH}; echo {number} >> shared.txt") for number in (1, 2)))
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(project.result("shared.txt").splitlines()) == ["1", "2", "one", "three", "two"]
    assert blob(project, PRD).count('"passes": true') == 2
    assert len(project.started()) == 3


@pytest.mark.slow
def test_what_is_learnt_at_the_top_of_the_log_is_kept_as_well(project: Project) -> None:
    words = (f'{BOTH}; sed -i "s/^## Patterns/&\\n- pattern {number}/" {PROGRESS}' for number in (1, 2))
    log = "# Log\n\n## Patterns\n\n---\n## 00 before\n- what was learnt\n---\n"
    snarktank(project, *(story(number, each) for number, each in enumerate(words, 1)), **{"progress.txt": log})
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert learnt(project) == ["00", "01", "02"]
    top = blob(project, PROGRESS).partition("\n---\n")[0].splitlines()
    assert (top[:3], sorted(top[3:])) == (["# Log", "", "## Patterns"], ["- pattern 1", "- pattern 2"])


@pytest.mark.slow
def test_a_log_that_has_become_a_link_is_a_conflict(project: Project) -> None:
    links = (f"{BOTH}; ln -sf $NOTES/outside.{number} {PROGRESS}" for number in (1, 2))
    snarktank(
        project, *(story(number, link) for number, link in enumerate(links, 1)), **{"progress.txt": "# Log\n"}
    )
    assert project.swarm("run", "--no-redo-conflicts").returncode == 1
    assert {*outcomes(project)} == {"merged", "conflict"}
    written = [path.read_text().count("\n") for path in project.notes.glob("outside.*")]
    assert written == [3, 3], "what the agents themselves have written"


@pytest.mark.slow
def test_the_host_is_killed_and_goes_on(project: Project) -> None:
    text = snarktank(project, story(1, "echo 1 > 1.txt"), story(2, f'[ -e "$NOTES/holding" ] || {{ {HOLD}; }}'))
    host = project.start("run", "-j", "1")
    until(lambda: (project.notes / "holding").exists())
    host.kill()
    host.wait()
    until(lambda: not project.processes())
    done = project.swarm("resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(project) == ["merged"] * 2
    assert blob(project, PRD) == text.replace('"passes": false', '"passes": true')
    assert learnt(project) == ["01", "02"]


@pytest.mark.slow
@pytest.mark.parametrize("stories", [1, 0], ids=["beside a list", "without a list"])
def test_lines_are_tasks_of_their_own(project: Project, stories: int) -> None:
    text = snarktank(project, story(1, "exit 9"))
    if not stories:
        project.git("rm", "-q", PRD)
        project.commit("no list")
    lines = project.write("../lines", "run: echo 1 > 1.txt\n# no task\nrun: echo 2 > 2.txt\n")
    done = project.swarm("run", str(lines))
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(project) == ["merged"] * 2
    assert [project.result(name) for name in ("1.txt", "2.txt")] == ["1", "2"]
    assert learnt(project) == ["01", "02"]
    if stories:
        assert blob(project, PRD) == text
    else:
        assert PRD not in project.git("ls-tree", "-r", "--name-only", project.seen()["branch"])


@pytest.mark.slow
def test_another_list_of_stories_is_done_and_the_setup_s_own_stays(project: Project) -> None:
    text = snarktank(project, story(1, "exit 9"))
    needs = story(5, "cat 6.txt > 5.txt", dependsOn=["US-6"])
    other = project.write("../other.json", prd(needs, story(6, "echo 6 > 6.txt")))
    done = project.swarm("run", str(other))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project.result("5.txt"), blob(project, PRD)) == ("6", text)


@pytest.mark.slow
def test_a_setup_that_git_does_not_have_is_copied_and_its_list_is_ticked_where_it_is(project: Project) -> None:
    """The setup's own stand-in, too, whose original says which CLI it is."""
    text = snarktank(project, story(1, "echo 1 > 1.txt"), story(2, "echo 2 > 2.txt"))
    project.git("rm", "-rq", "--cached", "scripts")
    project.write(".gitignore", "scripts/ralph/\n")
    project.commit("the setup is nobody else's")
    kept = project.path / "scripts/ralph/progress.txt"
    kept.write_text("# Log\n---\n")
    for words in (["adopt"], ["swarm", "run"]):
        done = project.command(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    names = project.git("diff", "--name-only", "main", project.seen()["branch"]).splitlines()
    assert names == ["1.txt", "2.txt"]
    assert (project.path / PRD).read_text() == text.replace('"passes": false', '"passes": true')


@pytest.mark.slow
def test_a_project_below_the_top_of_its_repository(project: Project) -> None:
    text = snarktank(project, *(story(number, f"{BOTH}; echo {number} > {number}.txt") for number in (1, 2)))
    project.write("sub/left.txt", "")
    project.git("mv", "scripts", "sub/scripts")
    project.commit("below")
    done = project.swarm("run", "--project", "sub")
    assert done.returncode == 0, done.stdout + done.stderr
    assert blob(project, f"sub/{PRD}") == text.replace('"passes": false', '"passes": true')
    assert learnt(project, f"sub/{PROGRESS}") == ["01", "02"]
    names = project.git("diff", "--name-only", "main", project.seen()["branch"]).splitlines()
    assert names == ["sub/1.txt", "sub/2.txt", f"sub/{PRD}", f"sub/{PROGRESS}"]


def test_a_list_that_cannot_be_read_is_told_and_nothing_begins(project: Project) -> None:
    snarktank(project, story(1, "exit 9"))
    project.write(PRD, '{"userStories": [\n  {"id": "US-1", "passes": "no"}]}')
    done = project.swarm("run")
    assert done.returncode == 2
    assert f'{PRD}:2:28: passes is "no", expected true or false' in done.stderr
    assert project.started() == []


# -- Pocock's scripts ------------------------------------------------------------------------------------


def test_pocock_s_prompt_stands_in_front_of_each_task(project: Project) -> None:
    boxes = f"- [x] run: exit 8\n- [ ] run: {BOTH}; echo 1 > 1.txt\n- [ ] run: {BOTH}; echo 2 > 2.txt\n"
    plan = f"# The product\n\nFast and *small*.\n\n{boxes}"
    make(project, **{"afk-ralph.sh": POCOCK, "PRD.md": plan, "progress.txt": "# Log\n"})
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(project) == ["merged"] * 2
    assert blob(project, "PRD.md").count("- [x]") == 3
    assert learnt(project, "progress.txt") == ["01", "02"]
    for path, other in zip(sorted(project.notes.glob("asked.*")), ("2.txt", "1.txt"), strict=True):
        asked = path.read_text()
        assert "@PRD.md @progress.txt Turn 1: pick a task of the list.\n\n# The task\n\n" in asked
        assert "acceptEdits" in asked
        assert other not in asked
        seen = path.with_name(path.name.replace("asked.", "plan.")).read_text()
        assert "Fast and *small*." in seen
        assert seen.count("- [ ]") == 1
    assert len(project.started()) == 2


@pytest.mark.slow
def test_pocock_s_list_of_features(project: Project) -> None:
    plan = (
        '[\n\t{"category": "a", "description": "run: echo 1 > 1.txt", "steps": ["x"], "passes": false},\n'
        '\t{"category": "b", "description": "run: echo 2 > 2.txt", "steps": [], "passes":false} ]\n'
    )
    script = POCOCK.replace("PRD.md", "plans/prd.json")
    make(project, **{"plans/ralph.sh": script, "plans/prd.json": plan, "progress.txt": "# Log\n"})
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert blob(project, "plans/prd.json") + "\n" == plan.replace("false", "true")
    assert learnt(project, "progress.txt") == ["01", "02"]


@pytest.mark.slow
def test_lines_in_pocock_s_setup_leave_what_else_its_plan_says(project: Project) -> None:
    plan = "# The product\n\nFast.\n\n- [ ] run: exit 8\n"
    make(project, **{"afk-ralph.sh": POCOCK, "PRD.md": plan})
    lines = project.write("../lines", "run: echo 1 > 1.txt\n")
    done = project.swarm("run", str(lines))
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.result("1.txt") == "1"
    assert blob(project, "PRD.md") + "\n" == plan
    (seen,) = project.notes.glob("plan.*")
    assert seen.read_text() == "# The product\n\nFast.\n\n- [ ] run: echo 1 > 1.txt\n"


# -- ralphy ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ralphy_s_groups_are_side_by_side_one_after_the_other(project: Project) -> None:
    tasks = (
        f'tasks:\n  - title: "run: {BOTH}; echo 1 > 1.txt"\n    completed: false   # soon\n    parallel_group: 1\n'
        f'  - title: "run: {BOTH}; echo 2 > 2.txt"\n    parallel_group: 1\n'
        "  - title: 'run: cat 1.txt 2.txt > 3.txt'\n    completed: false\n    parallel_group: 2\n"
    )
    project.env["HOME_OF_SETUP"] = ".ralphy"
    make(project, **{".ralphy/config.yaml": "rules:\n  - Keep it small\n", "tasks.yaml": tasks})
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(project) == ["merged"] * 3
    assert project.result("3.txt") == "1\n2"
    assert blob(project, "tasks.yaml").count("completed: true") == 3
    assert "completed: true   # soon" in blob(project, "tasks.yaml")
    assert "Keep it small" in next(project.notes.glob("asked.01*")).read_text()


@pytest.mark.slow
def test_the_list_that_ralphy_is_told_is_the_plan(project: Project) -> None:
    project.env["HOME_OF_SETUP"] = ".ralphy"
    files = {".ralphy/config.yaml": "", "PRD.md": "- [ ] run: exit 9\n", "next.md": "- [ ] run: echo 1 > 1.txt\n"}
    make(project, **files)
    assert "outside of the project" in project.swarm("run", "--", "--tasks", "../lines").stderr
    done = project.swarm("run", "--", "--tasks", str(project.path / "next.md"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert blob(project, "next.md") == "- [x] run: echo 1 > 1.txt"
    assert blob(project, "PRD.md") == "- [ ] run: exit 9"


# -- the playbook ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", ["", pytest.param(".ralph/", marks=pytest.mark.slow)])
def test_the_playbook_s_tasks_are_merged_and_nothing_is_pushed(project: Project, home: str) -> None:
    plan = f"# Implementation plan\n\n- [ ] run: {BOTH}; echo 1 > 1.txt\n- [ ] run: {BOTH}; echo 2 > 2.txt\n"
    files = {
        "loop.sh": PLAYBOOK.format(home),
        "PROMPT_build.md": "Study specs/*.\n",
        "IMPLEMENTATION_PLAN.md": plan,
    }
    project.env["HOME_OF_SETUP"] = home or "."
    make(project, **{f"{home}{name}": text for name, text in files.items()})
    project.git("init", "-q", "--bare", str(project.path.parent / "remote.git"))
    project.git("remote", "add", "origin", str(project.path.parent / "remote.git"))
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(project) == ["merged"] * 2
    assert blob(project, f"{home}IMPLEMENTATION_PLAN.md").count("- [x]") == 2
    assert all("Study specs/*." in path.read_text() for path in project.notes.glob("asked.*"))
    assert project.git("ls-remote", "origin") == ""
    assert len(project.started()) == 2


@pytest.mark.slow
def test_turns_that_are_used_up_are_no_end_of_a_task(project: Project) -> None:
    """Of a playbook's own loop they are the usual one."""
    files = {"loop.sh": PLAYBOOK.format(""), "PROMPT_build.md": "Study.\n"}
    make(project, **files, **{"IMPLEMENTATION_PLAN.md": "- [ ] run: echo 1 >> 1.txt; exit 1\n"})
    done = project.swarm("run", "--max-iterations", "2")
    assert done.returncode == 1
    assert [(each["outcome"], each["reason"]) for each in project.seen()["tasks"]] == [
        ("incomplete", "max_iterations")
    ]
    assert blob(project, "IMPLEMENTATION_PLAN.md").startswith("- [ ]")


SETUPS = {
    "pocock": ("PRD.md", {"afk-ralph.sh": POCOCK}),
    "ralphy": ("PRD.md", {".ralphy/config.yaml": ""}),
    "playbook": ("IMPLEMENTATION_PLAN.md", {"loop.sh": PLAYBOOK.format(""), "PROMPT_build.md": "Study.\n"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETUPS)
def test_in_each_setup_what_fails_stays_open_and_a_killed_host_goes_on(project: Project, kind: str) -> None:
    plan, files = SETUPS[kind]
    hold = f"[ -e $NOTES/holding ] || {{ {HOLD}; }}; echo 2 > 2.txt"
    boxes = f"- [ ] run: echo bad > 1.txt\n- [ ] run: {hold}\n- [ ] run: exit 3\n"
    make(project, **files, **{plan: f"# Plan\n\n{boxes}"})
    project.env["HOME_OF_SETUP"] = ".ralphy" if kind == "ralphy" else "."
    given = ("--check", "! grep -s bad 1.txt", "--", "--max-failures", "1", "--max-iterations", "2")
    host = project.start("run", "-j", "1", *given)
    until(lambda: (project.notes / "holding").exists())
    host.kill()
    host.wait()
    until(lambda: not project.processes())
    assert project.swarm("resume").returncode == 1
    assert outcomes(project) == ["check failed", "merged", "incomplete"]
    ticked = blob(project, plan).splitlines()[2:5]
    assert [line[3] for line in ticked] == [" ", "x", " "]
    assert project.result("2.txt") == "2"
