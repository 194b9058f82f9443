"""Issues of Beads as tasks, against a stand-in for ``bd``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from bridge.errors import ConfigurationError, SourceUnavailable
from bridge.loop.tasks import open_source
from bridge.loop.tasks.source_updates import Account
from bridge.loop.tasks.task import Asked, Filters, Task
from bridge.loop.tasks.task_order import ordered
from tests import command
from tests.tasks.stand_ins.trackers import Beads

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.tasks.task import Source


@pytest.fixture
def bd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Beads:
    made = Beads(tmp_path)
    monkeypatch.setenv("PATH", made.env()["PATH"])
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def source(folder: Path, name: str = "beads:", told: list[str] | None = None, **filters: Any) -> Source:
    tell = (lambda _: None) if told is None else told.append
    return open_source(name, Asked(project=folder, filters=Filters(**filters), tell=tell))


def tasks(folder: Path, name: str = "beads:", told: list[str] | None = None, **filters: Any) -> list[Task]:
    return ordered(source(folder, name, told, **filters).tasks())


def ids(found: list[Task]) -> list[str]:
    return [each.id for each in found]


def test_an_open_issue_is_a_task(bd: Beads, project: Path) -> None:
    bd.add("bd-1", "Later", priority=3)
    bd.add(
        "bd-2", "Now", priority=0, description="Do it.", design="So.", labels=["a"], acceptance_criteria="Green."
    )
    bd.add("bd-3", "Ours", status="in_progress")
    bd.add("bd-4", "All of it", issue_type="epic")
    first, second = tasks(project)
    assert (first.id, first.ref, first.title, first.priority, first.labels) == ("bd-2", "bd-2", "Now", 0, ("a",))
    assert "\nNow\n\nDo it.\n\n## Design\n\nSo.\n\n## Acceptance criteria\n\nGreen.\n---" in first.prompt
    assert first.prompt.startswith("Your task is bd-2 of this project's Beads.")
    assert second.id == "bd-1"


def test_needs_are_what_blocks_it_or_its_epic(bd: Beads, project: Path) -> None:
    bd.add("bd-a")
    bd.add("bd-closed", status="closed")
    bd.add("bd-epic", issue_type="epic", needs={"bd-a": "blocks"})
    bd.add("bd-part", needs={"bd-epic": "parent-child", "bd-closed": "blocks", "bd-z": "related"})
    bd.add("bd-next", needs={"bd-part": "blocks", "bd-epic": "parent-child"})
    bd.add("bd-busy", status="in_progress")
    bd.add("bd-waits", needs={"bd-busy": "blocks"})
    bd.add("bd-z")
    told: list[str] = []
    found = {each.id: each.needs for each in tasks(project, told=told)}
    assert found == {"bd-a": (), "bd-part": ("bd-a",), "bd-next": ("bd-part", "bd-a"), "bd-z": ()}
    assert told == ["bd-waits waits for bd-busy: it is left out"]
    with pytest.raises(ConfigurationError, match="no open issue of bd-epic that can be begun"):
        tasks(project, "beads:bd-epic")


def test_filters(bd: Beads, project: Path) -> None:
    bd.add("bd-1", labels=["a", "b"], assignee="me", priority=1)
    bd.add("bd-2", labels=["a"], needs={"bd-1": "blocks"}, priority=0)
    bd.add("bd-3", labels=["b"], needs={"bd-9": "parent-child"})
    assert ids(tasks(project, label=("a", "b"))) == ["bd-1"]
    assert ids(tasks(project, assignee="me")) == ["bd-1"]
    assert ids(tasks(project, "beads:bd-9")) == ["bd-3"]
    told: list[str] = []
    assert ids(tasks(project, told=told, limit=2)) == ["bd-1", "bd-2"]
    assert told == ["the first 2 of 3 issues are taken (--limit N)"]
    with pytest.raises(ConfigurationError, match="no open issue that the filters leave, and that can be begun"):
        tasks(project, label=("c",))
    with pytest.raises(ConfigurationError, match="knows no --milestone"):
        tasks(project, milestone="v1")
    with pytest.raises(ConfigurationError, match="no issue is called so"):
        tasks(project, "beads:--all")


def test_the_envelope_of_newer_versions_is_read(bd: Beads, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bd.add("bd-1")
    monkeypatch.setattr("bridge.loop.tasks.programs._ENVIRONMENT", {"BD_JSON_ENVELOPE": "1"})
    assert ids(tasks(project)) == ["bd-1"]


def test_hostile_text(bd: Beads, project: Path) -> None:
    texts = ["--flag", "$(touch x)", "\x1b[2Ja\nb", "\u202egnp", "\ud800", "a" * 3000, ""]
    for number, each in enumerate(texts):
        bd.add(f"bd-{number}", each, description=each, labels=[each[:9]])
    done = command.run(["tasks", "list", "beads:", "--json"], cwd=project, env=bd.env())
    found = json.loads(done.stdout)["tasks"]
    assert len(found) == len(texts)
    assert not any(re.search(r"[\x00-\x09\x0b-\x1f\u202e\ud800]", each["prompt"] + each["title"]) for each in found)
    assert not (project / "x").exists()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("workspace", "Beads keeps no issues here"),
        ("locked", "the database of Beads is in use"),
        ("garbage", "bd list has printed what isn't the JSON"),
    ],
)
def test_trouble_of_bd(bd: Beads, project: Path, how: str, told: str) -> None:
    bd.fail(how)
    with pytest.raises(SourceUnavailable, match=told):
        tasks(project)


def test_what_is_done_is_said_and_closed_once(bd: Beads, project: Path) -> None:
    bd.add("bd-1")
    opened = source(project)
    (task,) = opened.tasks()
    account = Account(run="r", task=task, word="done").comment()
    opened.begun(task)
    assert bd.issue("bd-1")["status"] == "in_progress"
    opened.failed(task, account)
    assert bd.issue("bd-1")["status"] == "open"
    bd.fail("locked", "close", after=True)
    with pytest.raises(SourceUnavailable):
        opened.done(task, account, close=True)
    opened.done(task, account, close=True)
    assert [each["text"] for each in bd.issue("bd-1")["comments"]] == [account]
    assert (bd.issue("bd-1")["status"], len(bd.called("close"))) == ("closed", 1)
    with pytest.raises(SourceUnavailable, match="no issue found matching"):
        opened.again("bd-9")
    with pytest.raises(ConfigurationError, match="is no issue"):
        opened.again("--all")


def test_hooks_that_an_agent_may_have_written_are_not_run(bd: Beads, project: Path) -> None:
    bd.add("bd-1")
    opened = source(project)
    (task,) = opened.tasks()
    hook = project / ".beads" / "hooks" / "on_close"
    hook.parent.mkdir(parents=True)
    hook.symlink_to("anywhere")
    with pytest.raises(SourceUnavailable, match="on_close: bd would run it here"):
        opened.begun(task)
    with pytest.raises(SourceUnavailable, match="on_close: bd would run it here"):
        opened.done(task, "x", close=True)
    assert (bd.issue("bd-1")["status"], bd.issue("bd-1")["comments"]) == ("open", [])
    hook.unlink()
    opened.done(task, "x", close=True)
    assert bd.issue("bd-1")["status"] == "closed"
