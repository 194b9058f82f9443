"""A repository that begins with one commit, for demonstrations and trials: the one place that uses ``sh``.

sh takes 70 ms to import and forks in Python, so it serves where neither is felt and its words are the clearest.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

from bridge.errors import ProgramNotFound, ProgramNotStarted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PATIENCE = 60


def begin_repository(
    folder: Path, env: Mapping[str, str], message: str, settings: Mapping[str, str] | None = None
) -> None:
    """Make a repository of a folder and commit all that lies in it.

    Args:
        folder: it exists.
        env: the environment for git, its identity included.
        message: of the commit.
        settings: of this repository, such as ``user.name``.

    Raises:
        ProgramNotFound: there is no git.
        ProgramNotStarted: git refused, or took longer than a minute; with its own words.
    """
    import sh

    try:
        with warnings.catch_warnings():
            # sh forks in Python, and Python 3.12 warns of that when threads exist; the child only executes.
            warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
            git = sh.Command("git", search_paths=env.get("PATH", os.defpath).split(os.pathsep)).bake(
                _cwd=str(folder), _env=dict(env), _timeout=_PATIENCE, _new_session=True, _tty_out=False
            )
            git("init", "--quiet")
            for name, value in (settings or {}).items():
                git("config", name, value)
            git("add", "--all")
            git("commit", "--quiet", "--message", message)
    except sh.CommandNotFound:
        raise ProgramNotFound("git was not found on PATH\n  next: install git") from None
    except sh.TimeoutException:
        raise ProgramNotStarted(f"git took longer than {_PATIENCE} s in {folder}") from None
    except sh.ErrorReturnCode as error:
        said = error.stderr.decode("utf-8", "replace").strip()
        raise ProgramNotStarted(f"{error.full_cmd} failed in {folder}: {said}") from None
