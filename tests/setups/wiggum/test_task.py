"""Whose task PROMPT.md, plan and progress are, and which promise completes the loop: as processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.setups.wiggum.task import filled, filled_by, template, with_promise

if TYPE_CHECKING:
    import subprocess

    from tests.setups.wiggum.project import Project

DONE = "work; promise; promise FOO"
OLD = "Rewrite the billing module. When done, say <promise>COMPLETE</promise>.\n"


@pytest.fixture
def bare(project: Project) -> Project:
    """A project without files of a task."""
    (project.path / "PROMPT.md").unlink()
    (project.path / "fix_plan.md").unlink()
    project.claude(DONE)
    return project


def start(project: Project, *arguments: str, code: int = 0, **env: str) -> str:
    done = project.wiggum("start", "--no-live", *arguments, **env)
    assert done.returncode == code, done.stderr
    return done.stderr


def aside(project: Project, name: str) -> list[str]:
    archive = project.layout.folder / "archive"
    return [each.read_text() for each in sorted(archive.glob(f"*-{name}*"))]


# -- 14 F.1: the prompt of another task --------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Build A", "Build B"),
        ("Build A", "Build A and test it"),
        ("Build A and test it", "Build A"),
        ("Größe\nin $(two) {objective} lines", "Build `B`\n\n- with\n- details"),
    ],
)
def test_f1_a_template_of_another_task_is_made_anew_and_kept_aside(bare: Project, first: str, second: str) -> None:
    start(bare, first)
    old = bare.read("PROMPT.md")
    told = start(bare, second, "--completion-promise", "FOO")
    prompt = bare.turns[-1]
    assert f"## Objective\n{second}\n" in prompt
    assert "<promise>FOO</promise>" in prompt
    assert "<promise>COMPLETE</promise>" not in prompt
    assert aside(bare, "PROMPT.md") == [old]
    assert "PROMPT.md is written anew" in told
    assert f"# Fix plan: {second.splitlines()[0]}" in bare.read("fix_plan.md")
    assert f"# Progress: {second.splitlines()[0]}\n" in bare.read("progress.txt")


def test_f1_a_template_that_the_agent_brought_up_to_date_is_still_one(bare: Project) -> None:
    start(bare, "Build A")
    text = bare.read("PROMPT.md").replace("- Iteration: 1\n", "- Iteration: 7\n").replace("\n", "\r\n")
    bare.write("PROMPT.md", text)
    start(bare, "Build B")
    assert bare.read("PROMPT.md").startswith("# Task: Build B")


def _appended(text: str) -> str:
    return text + "- Never touch the database.\n"


def _refined(text: str) -> str:
    return text.replace("## Objective\nBuild A", "## Objective\nBuild A\n\nUse the new API only.")


def _rewritten(text: str) -> str:
    return text.replace("Build A", "Build the API")


def _free(_text: str) -> str:
    return OLD


@pytest.mark.parametrize(
    ("edit", "options"),
    [
        (_appended, ()),
        (_refined, ("--completion-promise", "FOO")),
        (_rewritten, ("--mode", "hook")),
        (_free, ("--fresh",)),
    ],
)
def test_f1_an_edited_prompt_of_another_task_is_refused(bare: Project, edit: Any, options: tuple[str, ...]) -> None:
    start(bare, "Build A")
    text = edit(bare.read("PROMPT.md"))
    bare.write("PROMPT.md", text)
    plan = bare.read("fix_plan.md")
    done: subprocess.CompletedProcess[str] = bare.wiggum("start", "Build B", *options)
    assert done.returncode == 2
    assert "of another task" in done.stderr
    assert "next: --force" in done.stderr
    assert (bare.read("PROMPT.md"), bare.read("fix_plan.md"), len(bare.turns)) == (text, plan, 1)
    assert not bare.layout.state.exists()
    told = start(bare, "Build B", "--force", "--fresh")
    assert "PROMPT.md is written anew" in told
    assert text in aside(bare, "PROMPT.md")


def test_f1_one_s_own_prompt_of_the_same_task_is_run_as_it_is(bare: Project) -> None:
    bare.write("PROMPT.md", OLD)
    start(bare, "rewrite the  billing module")
    assert bare.turns == [OLD.rstrip()]
    start(bare)
    assert bare.turns == [OLD.rstrip()] * 2


@pytest.mark.parametrize(
    ("prompt", "runs"),
    [
        ("Study specs/ and fix_plan.md, do the most important item, then <promise>COMPLETE</promise>", True),
        ("Do the next unchecked task. <promise>COMPLETE</promise>", True),
        ("Build B, nothing else. <promise>COMPLETE</promise>", True),
        ("Build Bazaar. <promise>COMPLETE</promise>", False),
        ("Build a todo app. First thing: a database. <promise>COMPLETE</promise>", False),
        ("# Task: Build A\nDo the next item of fix_plan.md. <promise>COMPLETE</promise>", False),
        ("## Objective\nBuild A\nRead fix_plan.md. <promise>COMPLETE</promise>", False),
        ("# Task: Build B\nWith care. <promise>COMPLETE</promise>", True),
    ],
)
def test_f1_a_prompt_that_names_no_task_is_good_for_any(bare: Project, prompt: str, runs: bool) -> None:
    bare.write("PROMPT.md", prompt)
    start(bare, "Build B", code=0 if runs else 2)
    assert bare.turns == [prompt] * runs


def test_f1_people_may_refine_the_prompt_of_a_loop_that_was_left(bare: Project) -> None:
    bare.claude("work; [ $TURN != 1 ] || kill -9 $(ps -o ppid= -p $PPID); promise")
    start(bare, "Build A", code=-9)
    bare.write("PROMPT.md", _refined(bare.read("PROMPT.md")))
    start(bare, "Build A")
    assert "Use the new API only." in bare.turns[-1]


def test_f1_resume_goes_on_with_no_other_task_than_the_one_described(bare: Project) -> None:
    bare.claude("work")
    start(bare, "Build A", "--max-iterations", "1", code=1)
    assert "Build A" in start(bare, "Build B", "--resume", "--max-iterations", "2", code=2)
    start(bare, "--resume", "--max-iterations", "2", code=1)
    assert len(bare.turns) == 2


@pytest.mark.parametrize("task", [("Build A",), ("Build B",), ()])
def test_f1_with_fresh_the_old_blockers_and_plan_are_gone(bare: Project, task: tuple[str, ...]) -> None:
    block = "\\n## Iteration 1 - 2026-01-07T14:30:00Z\\n### Blockers\\n- the old blocker\\n"
    bare.claude(f"work; printf '{block}' >> progress.txt; printf -- '- [ ] an old item\\n' >> fix_plan.md; promise")
    start(bare, "Build A")
    bare.claude(DONE)
    start(bare, *task, "--fresh")
    assert "an old item" not in bare.read("fix_plan.md")
    assert "the old blocker" not in bare.read("progress.txt")
    assert bare.status()["items"]["total"] == 3
    assert "an old item" in aside(bare, "fix_plan.md")[0]
    assert "the old blocker" in aside(bare, "progress.txt")[0]


def test_f1_fresh_leaves_the_plan_that_belongs_to_one_s_own_prompt(project: Project) -> None:
    project.claude(DONE)
    start(project)
    project.write("fix_plan.md", "- [ ] mine\n")
    start(project, "--fresh")
    assert project.read("fix_plan.md") == "- [ ] mine\n"


# -- 14 F.1: the promise -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    [
        "Do it.\n",
        "Do it. Say <promise>OTHER</promise>, once more: <promise>OTHER</promise>.\n",
        "Say <promise>ONE</promise> or <promise>TWO</promise>.\n",
    ],
)
def test_f1_the_prompt_asks_for_the_promise_that_was_named(bare: Project, prompt: str) -> None:
    bare.write("PROMPT.md", prompt)
    told = start(bare, "--completion-promise", "FOO")
    assert "<promise>FOO</promise>" in bare.turns[0]
    assert "<promise>OTHER</promise>" not in bare.turns[0]
    assert aside(bare, "PROMPT.md") == [prompt]
    assert "PROMPT.md asks for <promise>FOO</promise> now" in told
    start(bare, "--completion-promise", "FOO")
    assert len(aside(bare, "PROMPT.md")) == 1


def test_f1_without_a_name_the_promise_of_the_prompt_counts(bare: Project) -> None:
    bare.write("PROMPT.md", "Move it, then say <promise>FOO</promise>.\n")
    told = start(bare)
    assert bare.state["completion_promise"] == "FOO"
    assert "that is what completes the loop" in told


def test_f1_a_template_made_with_any_values_is_known() -> None:
    values = {"task_name": "A.*", "objective": "A.*\n\n## x\n{task_name}", "completion_promise": "a\\1"}
    text = filled(
        template("PROMPT.md"), values | {"iteration_count": "1", "last_action": "", "remaining_count": "?"}
    )
    assert filled_by(text) == values
    assert filled_by(text.replace("ONE item", "Two items")) is None
    assert filled_by(with_promise(text, "b\\2")) == values | {"completion_promise": "b\\2"}


# -- 14 F.8: a state in the published schema ---------------------------------------------------------

ALL = {
    "task_name": "Implement OAuth",
    "started_at": "2026-01-04T14:00:00Z",
    "iteration": 8,
    "last_action": "Completed the last one",
    "remaining_items": 0,
    "total_items": 2,
    "completed_items": ["one", "two"],
}


def published(project: Project, **values: object) -> None:
    import json

    project.write(".claude/ralph-state.json", json.dumps(ALL | values))


@pytest.mark.parametrize("plan", [None, "- [x] one\n- [x] two\n"])
@pytest.mark.parametrize("arguments", [(), ("Implement OAuth",), ("--mode", "hook"), ("--resume",)])
def test_f8_a_state_whose_items_are_all_done_is_complete(
    bare: Project, plan: str | None, arguments: tuple[str, ...]
) -> None:
    bare.write("PROMPT.md", "Implement OAuth, then say <promise>COMPLETE</promise>.\n")
    if plan is not None:
        bare.write("fix_plan.md", plan)
    published(bare)
    seen = bare.status()
    assert (seen["active"], seen["outcome"], seen["total_items"]) == (False, "plan_complete", 2)
    done = bare.wiggum("start", *arguments)
    assert (done.returncode, bare.turns) == (0, []), done.stderr
    assert "all 2 items" in done.stderr
    assert bare.state["outcome"] == "plan_complete"
    assert not bare.layout.state.exists()


@pytest.mark.parametrize("state", [ALL, ALL | {"remaining_items": "0", "total_items": "2"}])
def test_f8_the_hook_lets_go_of_it(bare: Project, state: dict[str, object]) -> None:
    bare.write("PROMPT.md", "Implement OAuth\n")
    published(bare, **state)
    found = bare.hook()
    assert (found.document.get("decision"), "plan_complete" in found.stdout) == (None, True)
    assert not bare.hook().stdout


@pytest.mark.parametrize("plan", ["- [x] one\n- [ ] two\n", None])
def test_f8_it_isn_t_while_the_plan_or_the_state_has_one_to_do(bare: Project, plan: str | None) -> None:
    bare.write("PROMPT.md", "Implement OAuth\n")
    published(bare, remaining_items=1 if plan is None else 0)
    if plan is not None:
        bare.write("fix_plan.md", plan)
    assert bare.status()["outcome"] is None
    assert bare.hook().document["decision"] == "block"


def test_f8_a_loop_that_was_killed_behind_its_last_item_is_complete(project: Project) -> None:
    project.claude("work; tick; [ $TURN != 3 ] || kill -9 $(ps -o ppid= -p $PPID)")
    start(project, code=-9)
    start(project)
    assert (len(project.turns), project.state["outcome"]) == (3, "plan_complete")
