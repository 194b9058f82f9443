"""The checks before a session, in the controller's words. Each raises `SessionRefused` with its exit code."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.contract.scripts import line_ends
from bridge.errors import SessionRefused
from bridge.files import ANYWHERE, open_file, read_bytes, usable
from bridge.setups.ralph_loop.arguments import LOOP_MODES
from bridge.setups.ralph_loop.plan import PLAN_FILE, parse, plan_type
from bridge.setups.ralph_loop.policy import COMPLETE
from bridge.setups.ralph_loop.settings import SessionJob

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.ralph_loop.settings import Config

NO_PLAN = "Implementation plan not found. Run 'ralph plan' first."

_COMPLETE_STATUS = re.compile(r"Status:.*complete")


def agent_script(home: Path, name: str) -> Path:
    """Path of the agent's script."""
    script = home / "agents" / f"{name}.sh"
    if not script.is_file():
        hint = line_ends(home / "config") if name.endswith("\r") else ""
        raise SessionRefused(f"Error: agent script not found: {script}{hint}".replace("\r", ""))
    return script


def repository(folder: Path, *, strict: bool) -> None:
    """A git repository: `folder` is one, or lies in one; work trees and submodules (``.git`` is a file) count.

    Strict: only a folder that has a directory ``.git`` counts, as in the controller.
    """
    if strict:
        found = (folder / ".git").is_dir()
    else:
        real = folder.resolve()
        found = any(_is_git(parent / ".git") for parent in (real, *real.parents))
    if not found:
        raise SessionRefused("Error: not a git repository (no .git directory found)")


def _is_git(path: Path) -> bool:
    if path.is_file():
        with usable(".git"), open_file(path) as file:
            return file.read(8) == b"gitdir: "
    return path.is_dir()


def specs(folder: Path, config: Config) -> None:
    """The folder of specifications; every mode wants one."""
    if not (folder / config.specs_dir).is_dir():
        raise SessionRefused(f"Error: specs directory not found: {config.specs_dir}")


def default_mode(home: Path) -> str:
    """What to do when nothing is said: build when there is a plan with tasks, else plan."""
    plan = home / PLAN_FILE
    return "build" if plan.is_file() and parse(read(plan)).tasks else "plan"


def job(home: Path, folder: Path, config: Config, *, process: bool, prompt_file: str) -> SessionJob:
    """Settle what to do, by the checks of the mode."""
    mode = config.mode
    if mode not in LOOP_MODES:
        raise SessionRefused(f"Error: {mode!r} is no mode; expected one of {', '.join(LOOP_MODES)}")
    plan = home / PLAN_FILE
    if mode == "prompt":
        return SessionJob(mode, _own_prompt(folder, prompt_file), prompt_file, False, plan)
    if mode == "plan":
        if process:
            _process_files(folder, config)
        names = ["plan-process.md", "process-plan.md"] if process else ["plan.md"]
    elif mode == "build":
        if not plan.is_file():
            raise SessionRefused(NO_PLAN, 2)
        process = plan_type(read(plan)) == "process"
        names = ["build-process.md" if process else "build.md"]
    else:
        _can_align(config, plan)
        names = ["align-specs.md"]
    template = _template(home, names)
    return SessionJob(mode, template, str(template), process, plan)


def _template(home: Path, names: list[str]) -> Path:
    for name in names:
        if (found := home / "prompts" / name).is_file():
            return found
    raise SessionRefused(f"Error: prompt template not found: {home / 'prompts' / names[0]}")


def _own_prompt(folder: Path, prompt_file: str) -> Path:
    if not prompt_file:
        raise SessionRefused("Error: prompt mode needs a prompt file: ralph prompt FILE [N]")
    path = folder / prompt_file
    if not path.is_file():
        raise SessionRefused(f"Error: prompt file not found: {prompt_file}")
    if COMPLETE not in read(path):
        raise SessionRefused(
            f"Error: prompt file has no completion signal: {prompt_file}\n"
            f"  next: tell the agent in it to answer {COMPLETE} when everything is done"
        )
    return path


def process_files(folder: Path, config: Config) -> list[Path]:
    """The process specifications: ``*.md`` right in PROCESS_DIR."""
    return sorted(path for path in (folder / config.process_dir).glob("*.md") if path.is_file())


def _process_files(folder: Path, config: Config) -> None:
    if not config.process_dir:
        raise SessionRefused("Error: PROCESS_DIR is not set in config; plan --process needs it")
    if not (folder / config.process_dir).is_dir():
        raise SessionRefused(f"Error: process directory not found: {config.process_dir}")
    if not process_files(folder, config):
        raise SessionRefused(f"Error: no .md files found in process directory: {config.process_dir}")


def _can_align(config: Config, plan: Path) -> None:
    if not config.process_dir:
        raise SessionRefused("Error: PROCESS_DIR is not set in config; align-specs needs it")
    if not plan.is_file():
        raise SessionRefused(f"Error: implementation plan not found: {plan}")
    text = read(plan)
    if plan_type(text) != "process":
        raise SessionRefused("Error: align-specs needs a process plan (Plan Type: process)")
    if not _COMPLETE_STATUS.search(text):
        raise SessionRefused("Error: align-specs needs completed tasks, and the plan has none (Status: complete)")


def read(path: Path) -> str:
    """A text file, every byte kept.

    Raises:
        bridge.errors.ProjectUnusable: it can't be read.
    """
    with usable(os.fspath(path.name)):
        return read_bytes(path, root=ANYWHERE).decode("utf-8", "surrogateescape")
