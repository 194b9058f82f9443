"""A project for each test, and nothing left running behind it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.swarm.hosting import Hosted, host
from tests.swarm.projects import Project, make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = make(tmp_path)
    yield made
    left = made.processes()
    for line in left:
        try:
            psutil.Process(int(line.split()[0])).send_signal(signal.SIGKILL)
        except psutil.Error:
            continue
    assert left == []


@pytest.fixture
def hosted(project: Project, tmp_path: Path) -> Hosted:
    return host(project, tmp_path)
