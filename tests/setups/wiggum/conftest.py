"""A project for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.setups.wiggum.project import new_project

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.wiggum.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository with a commit, a prompt and a plan."""
    return new_project(tmp_path / "project")
