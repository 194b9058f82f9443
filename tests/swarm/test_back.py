"""What goes back to the source of a swarm's tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.swarm.projects import Project


def test_a_file_is_ticked_for_what_is_merged_when_that_is_asked_for(project: Project) -> None:
    text = "- [ ] one: echo 1 > one.txt\n- [ ] two: false\n"
    todo = project.write("../todo.md", text)
    assert project.swarm("run", "--from", f"plan:{todo}").returncode == 1
    assert todo.read_text() == text
    assert project.swarm("run", "--from", f"plan:{todo}", "--write-back", "close", "--again").returncode == 1
    assert todo.read_text() == text.replace("[ ] one", "[x] one")
    assert [each["said"] for each in project.seen()["tasks"]] == ["done", "failed"]


def test_a_source_that_cannot_be_told_fails_no_swarm_and_is_told_by_resume(project: Project) -> None:
    todo = project.write("../todo.md", "- [ ] one: rm $NOTES/../todo.md; mkdir $NOTES/../todo.md\n")
    text = todo.read_text()
    done = project.swarm("run", "--from", f"plan:{todo}", "--write-back", "close")
    assert done.returncode == 0
    assert "isn't told of 01-one" in done.stderr
    assert f"plan:{todo} isn't told of 01-one" in done.stdout
    todo.rmdir()
    todo.write_text(text)
    assert "isn't told" not in project.swarm("resume").stdout
    assert todo.read_text() == text.replace("[ ]", "[x]")
    assert project.started() == ["01-one-rm-notes-todo-md-mkdir"]


def test_without_a_source_nothing_can_go_back(project: Project) -> None:
    project.plan("one: true")
    done = project.swarm("run", "--write-back", "close")
    assert (done.returncode, "name the source" in done.stderr) == (2, True)
