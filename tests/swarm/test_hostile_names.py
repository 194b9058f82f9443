"""What somebody names a hub or a branch never becomes an option of git's, nor a command that git runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge import ConfigurationError
from bridge.base.git.repository import Repository
from bridge.loop.swarm.transport import check_hub

if TYPE_CHECKING:
    from pathlib import Path

    from tests.swarm.projects import Project


@pytest.mark.parametrize(
    "hub",
    ["--upload-pack=touch {canary};", "-u touch {canary}", "ext::touch {canary}", "foo::x", "x\0y", "x\ny"],
)
def test_a_hub_that_git_would_obey_is_refused(project: Project, tmp_path: Path, hub: str) -> None:
    canary = tmp_path / "canary"
    with pytest.raises(ConfigurationError, match=r"(?s)--hub .*next: "):
        check_hub(hub.format(canary=canary), Repository(project.path))
    assert not canary.exists()


def test_git_runs_no_command_of_an_address(project: Project, tmp_path: Path) -> None:
    """Nor where the user's own configuration would allow it."""
    canary = tmp_path / "canary"
    git = Repository(project.path)
    git.run("config", "protocol.ext.allow", "always")
    assert not git.run("ls-remote", "--", f"ext::touch {canary}").ok
    assert not canary.exists()
