"""What a run is, what its controller's words ask for, and what it keeps beside its stories."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bridge.clis import cli_of_script, find_cli
from bridge.errors import ConfigurationError, SessionRefused
from bridge.files import make_folder, read_bytes, usable, write_atomic
from bridge.records import read_text
from bridge.setups.options import RunOptions
from bridge.setups.prompted.files import plan_text, shown
from bridge.setups.prompted.job import Job
from bridge.setups.prompted.prompts import can_be_had, file_prompt, pieces_prompt
from bridge.setups.prompted.script import Script
from bridge.setups.prompted.task_lists import parse, plan_in
from bridge.setups.prompted.tools import asked_for, call_for, tool_of
from bridge.setups.snarktank.kind import ARCHIVE, LAST_BRANCH, PRD, PROGRESS, SCRIPT, at, project_of
from bridge.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bridge.loop.plan import Plan
    from bridge.setups.model import Setup
    from bridge.setups.prompted.calls import Call
    from bridge.setups.prompted.job import Prompt, Tool

MOST, PAUSE, PROMISE = 10, 2.0, "COMPLETE"
TOOLS = ("amp", "claude")
"""Those that the original knows; a fork's script may call others."""
_LONGEST, _DEEPEST = 60, 10
"""Characters and folders of an archive's name."""
FILES = {"amp": "prompt.md", "": "CLAUDE.md"}
"""The prompt by the CLI's name; '': of all others."""


def job(setup: Setup, options: RunOptions) -> Job:
    """Say what a run is.

    Raises:
        ConfigurationError: its stories can't be read, it has no prompt.
    """
    read_plan(setup)
    script = Script.behind(setup.controller, setup.project)
    call = call_for(script, options)
    tool = tool_of(call, options, next((cli.programs[0] for cli in script.chosen), TOOLS[0]))
    prompt, name = _prompt(setup, options, call, tool)
    guessed = (
        f"{shown(setup, SCRIPT)} calls no CLI that is known here: it is {tool.program}, unless you name another"
    )
    return Job(
        project=setup.project,
        shown=name,
        prompt=prompt,
        tool=tool,
        most=MOST,
        promise=PROMISE,
        read_plan=partial(read_plan, setup),
        noun="story",
        nouns="stories",
        pause=PAUSE,
        notes=(guessed,) if call is None and asked_for(options) is None else (),
        begin=partial(_begin, setup),
    )


def read_plan(setup: Setup) -> Plan | None:
    """The stories; None: there are none.

    Raises:
        ConfigurationError: they can't be read.
    """
    text = plan_text(setup, PRD)
    return None if text is None else plan_in(text, shown(setup, PRD))


def _prompt(setup: Setup, options: RunOptions, call: Call | None, tool: Tool) -> tuple[Prompt, str]:
    if options.prompt:
        return file_prompt(setup.project / options.prompt, options.prompt), options.prompt
    given = call.prompt if call is not None else None
    if given is not None and can_be_had(given, setup.project):
        file = next((piece.text for piece in given if piece.kind == "file"), None)
        name = os.path.relpath(setup.project / (file or setup.controller), setup.project)
        if file is not None and len(given) == 1:
            return file_prompt(setup.project / file, name), name
        return pieces_prompt(given, setup.project, options), name
    usual = FILES.get(tool.program, FILES[""])
    for each in dict.fromkeys((usual, *FILES.values())):
        if (setup.home / each).is_file():
            return file_prompt(setup.home / each, name := shown(setup, each)), name
    others = [
        each.cli
        for each in Script.behind(setup.controller, setup.project).calls
        if can_be_had(each.prompt, setup.project)
    ]
    hint = "".join(f", or run what has one: --driver {cli.driver.name}" for cli in others[:1] if cli.driver)
    raise ConfigurationError(
        f"no prompt: looked for {' and '.join(shown(setup, each) for each in FILES.values())}\n"
        f"  next: write one, or name one with --prompt{hint}"
    )


# -- what it keeps ------------------------------------------------------------------------------------


def _begin(setup: Setup) -> Iterator[str]:
    """Put the last feature's files aside when the branch has changed, note the branch, begin the progress log."""
    progress, branch = setup.home / PROGRESS, _branch(setup)
    before = (read_text(setup.home / LAST_BRANCH) or "").removeprefix("\ufeff").strip()
    if branch and before and branch != before:
        name = f"{ARCHIVE}/{time.strftime('%Y-%m-%d')}-{_folder_of(before)}"
        with usable("the archive"):
            make_folder(setup.home / name)
            for each in (PRD, PROGRESS):
                with suppress(FileNotFoundError):
                    write_atomic(setup.home / name / each, read_bytes(setup.home / each))
            write_atomic(progress, _heading())
        where = one_line(shown(setup, name), 200)
        yield f"the run before was about {one_line(before, 100)}: its files are in {where}"
    with usable(f"the folder {shown(setup, '')}"):
        if branch and branch != before:
            write_atomic(setup.home / LAST_BRANCH, f"{branch}\n")
        if not progress.exists():
            write_atomic(progress, _heading())


def _folder_of(branch: str) -> str:
    """The original's name for it, but that it leads nowhere else and that a file system takes it.

    >>> _folder_of("ralph/a/b"), _folder_of("../../x"), _folder_of("..")
    ('a/b', 'x', 'unnamed')
    """
    plain = "".join(each for each in branch.removeprefix("ralph/") if each.isprintable())
    parts = [part for part in plain.split("/") if part not in ("", ".", "..")]
    return "/".join(part[:_LONGEST] for part in parts[:_DEEPEST]) or "unnamed"


def _branch(setup: Setup) -> str:
    text = plan_text(setup, PRD)
    found = parse(text, PRD).get("branchName") if text else None
    return found.encode("utf-8", "replace").decode() if isinstance(found, str) else ""


def _heading() -> str:
    return f"# Ralph Progress Log\nStarted: {time.strftime('%a %b %e %H:%M:%S %Z %Y')}\n---\n"


# -- its controller's words -----------------------------------------------------------------------------


def called(controller: Path, words: Sequence[str]) -> tuple[Setup, RunOptions]:
    """Read the words of its controller as that does: a number anywhere and ``--tool`` count, nothing else.

    Raises:
        SessionRefused: the tool is none of those that its script calls.
    """
    setup = at(project_of(controller.parent), controller.parent)
    options = RunOptions()
    tool: str | None = None
    left = [*words]
    while left:
        word = left.pop(0)
        if word == "--tool":
            if not left:
                raise SessionRefused("Error: --tool: expected a tool behind it")
            tool = left.pop(0)
        elif word.startswith("--tool="):
            tool = word.partition("=")[2]
        elif word.isascii() and word.isdigit():
            options = replace(options, max_iterations=int(word[:9]))
    if tool is None:
        return setup, options
    known = dict.fromkeys(
        (*TOOLS, *(call.cli.programs[0] for call in Script.behind(setup.controller, setup.project).calls))
    )
    cli = find_cli(tool) or cli_of_script(tool)
    if cli is None or cli.programs[0] not in known:
        expected = " or ".join(f"'{each}'" for each in known)
        raise SessionRefused(f"Error: Invalid tool '{tool}'. Must be {expected}.")
    if cli.driver is None:
        return setup, replace(options, agent=cli.name)
    return setup, replace(options, driver=cli.driver.name)
