"""The loop of a bmalph project, as a process: five drivers, files that readers can read at every moment."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.setups.bmalph import readers
from tests.setups.bmalph.agents import CLIS, SESSION, Agent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.bmalph.conftest import Project

SESSIONS = {"claude-code": SESSION, "codex": SESSION, "opencode": "ses_1", "cursor": SESSION, "copilot": ""}


class Watched:
    """Reads every file again and again, as dashboards do, from the start of the loop to its end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rounds = 0
        self.error: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        try:
            while not self._over.is_set():
                readers.read_all(self.folder)
                self.rounds += 1
        except BaseException as error:
            self.error = error

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("driver", CLIS)
def test_it_must_show_1_files_that_readers_take_at_every_moment(looping: Project, driver: str) -> None:
    agent = Agent(looping, driver)
    agent.otherwise("change; tick; commit; working 1")
    with Watched(looping.path / ".ralph") as watched:
        done = looping.run("run", "--driver", driver, RALPH_BRIDGE_PAUSE_SECONDS="0.05")
    assert done.returncode == 0, done.stderr
    assert watched.rounds > 3
    assert len(agent.calls) == 3
    status = readers.status(looping.path / ".ralph")
    assert (status["status"], status["exit_reason"], status["loop_count"]) == ("completed", "plan_complete", 3)
    assert status["calls_made_this_hour"] == 3
    records = metrics(looping)
    assert [record["loop_outcome"] for record in records] == ["success"] * 3
    assert [record["session_id"] for record in records] == [SESSIONS[driver]] * 3
    assert {record["driver"] for record in records} == {driver}
    resumed = [SESSIONS[driver] in call for call in agent.calls]
    assert resumed == [False, bool(SESSIONS[driver]), bool(SESSIONS[driver])]
    assert any("Next: Story 1.2" in word for word in agent.calls[1])
    assert (looping.path / ".ralph/@fix_plan.md").read_text().count("- [x]") == 3
    assert not (looping.path / ".ralph/.response_analysis").exists()  # it went with the session


def metrics(project: Project) -> list[dict[str, Any]]:
    return [json.loads(line) for line in project.read(".ralph/logs/metrics.jsonl").splitlines()]
