"""A loop of any kind goes on without its terminal, and is ended by `stop`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests import examples
from tests.examples import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.examples import Project

RUN = [
    each for each in examples.EXAMPLES.values() if each.words[0] == "run"
]  # Wiggum mode has a command of its own


@pytest.fixture(params=RUN, ids=lambda example: example.name)
def night(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    with examples.project(request.param, tmp_path) as made:
        yield made


def test_it_is_started_and_stopped(night: Project) -> None:
    night.turns(otherwise="work; sleep 600")
    done = night.run(*night.example.words, "--detach")
    assert done.returncode == 0, done.stderr
    assert "ralph-bridge stop" in done.stderr
    end = time.monotonic() + PATIENCE
    while not night.begun() and time.monotonic() < end:
        time.sleep(0.05)
    stopped = night.run("stop", "--now")
    assert stopped.returncode == 0, stopped.stderr
    assert night.run("stop").returncode == 1, "no loop is left"
    assert night.begun() == 1


@pytest.mark.slow
def test_it_imports_nothing_from_the_folder_that_turns_write_to(tmp_path: Path) -> None:
    with examples.project(RUN[0], tmp_path) as made:
        made.turns(otherwise="work")
        for name in ("json", "click", "bridge"):
            (made.path / f"{name}.py").write_text("open('planted', 'w')\n")
        done = made.run(*made.example.words, "--detach")
        assert done.returncode in (0, 1), done.stderr
        made.run("stop", "--now")
        assert not (made.path / "planted").exists()
