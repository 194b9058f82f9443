"""What must be right before a loop starts: settings, layout, prompt, repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.git.repository import Repository
from bridge.loop.prompt import require_words
from bridge.process.ask import NOT_STARTED, TOO_LONG
from bridge.setups.bmalph import layout, rc
from bridge.setups.bmalph.settings import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.bmalph.folder import Folder
    from bridge.setups.bmalph.settings import Given, Settings

__all__ = ["ready"]


def ready(folder: Folder, *, env: Mapping[str, str], options: Mapping[str, Given] | None = None) -> Settings:
    """Check everything that needs no driver, and return the settings. Nothing is written.

    Raises:
        ConfigurationError: settings that can't be used (all of them are named), a layout that isn't ours, no
            prompt, no git repository with a commit.
        ProjectUnusable: a file can't be read.
    """
    settings = resolve(folder, env=env, rc=rc.read(folder, env), options=options)
    layout.require(folder)
    if not (folder.project / settings.prompt_file).is_file():
        where = settings.sources["prompt_file"]
        raise ConfigurationError(
            f"the prompt {settings.prompt_file} ({where.name} {where.where}) is not there"
            f"\n  next: {_prompt_advice(folder, settings.prompt_file)}"
        )
    require_words(folder.project / settings.prompt_file, settings.prompt_file)
    _repository(folder, env)
    return settings


def _prompt_advice(folder: Folder, name: str) -> str:
    others = [each for each in ("@fix_plan.md", "specs", "@AGENT.md") if (folder / each).exists()]
    if others:
        return f"{folder.shown} has {', '.join(others)} and no prompt: write {name}, or `bmalph implement`"
    return f"write {name}, or name another with --prompt"


def _repository(folder: Folder, env: Mapping[str, str]) -> None:
    repository = Repository(folder.project, env=env)
    asked = repository.run("rev-parse", "--git-dir")
    if asked.ok and repository.head():
        return
    if asked.status == NOT_STARTED:
        problem, advice = "can't be asked about its history: git is not on PATH", "install git"
    elif asked.status == TOO_LONG:
        problem, advice = f"does not answer: {asked.err}", "try `git status` by hand"
    elif not asked.ok:
        problem, advice = "is not a git repository", "git init, then a first commit"
    else:
        problem, advice = "has no commit yet", "git add -A && git commit -m 'first commit'"
    raise ConfigurationError(f"{folder.project} {problem}; the loop measures progress by git\n  next: {advice}")
