"""What a run is, and what its controller's words ask for."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError, SessionRefused
from bridge.setups.options import RunOptions
from bridge.setups.playbook import plan, script
from bridge.setups.playbook.kind import BUILD, PLACES, PLAN, PLAN_MODE, detect, place_of, prompt_name
from bridge.setups.prompted.files import plan_text, shown
from bridge.setups.prompted.job import Job, Tool
from bridge.setups.prompted.prompts import can_be_had, file_prompt, pieces_prompt
from bridge.setups.prompted.script import Script
from bridge.setups.prompted.tools import asked_for, tool_of
from bridge.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.loop.plan import Plan
    from bridge.setups.model import Setup
    from bridge.setups.prompted.calls import Call
    from bridge.setups.prompted.job import Prompt

_MODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PROMPT = re.compile(r"PROMPT_\w+\.md")
_NUMBERS = frozenset({"-n", "n", "max-iterations", "iterations", "max"})
_ORIGINAL = Tool(program="claude", permission="bypassPermissions", on_stdin=True)
"""What is run where there is no script that says so."""


def job(setup: Setup, options: RunOptions) -> Job:
    """Say what a run is.

    Raises:
        ConfigurationError: there is no such prompt; its script calls nothing that we know.
    """
    mode = options.mode or BUILD
    prompt_file = _prompt_file(setup, mode)
    own = Script.behind(setup.controller, setup.project, mode)
    call = script.call_for(own, options, prompt_name(mode))
    there = setup.controller.is_file()
    if there and call is None and asked_for(options) is None:
        raise ConfigurationError(
            f"{shown(setup, str(setup.controller))} calls no CLI that we know\n"
            "  next: name one with --driver or --agent (`ralph-bridge list` shows them)"
        )
    prompt, notes = _prompt(setup, options, call, prompt_file)
    return Job(
        project=setup.project,
        shown=options.prompt or prompt_file,
        prompt=prompt,
        tool=tool_of(call, options, "claude") if there or asked_for(options) else _ORIGINAL,
        most=script.most_of(own),
        promise=script.promise_of(own, mode),
        read_plan=partial(read_plan, setup),
        plan_ends=False,
        used_up=0,
        complete=True,
        notes=notes,
        after=partial(script.push, setup.project, script.push_of(own) if options.push else None),
    )


def _prompt_file(setup: Setup, mode: str) -> str:
    """The prompt of a mode, relative to the project."""
    place = place_of(setup.project) or ""
    name = f"{place}{prompt_name(mode)}"
    if _MODE.fullmatch(mode) and (mode in (BUILD, PLAN_MODE) or (setup.project / name).is_file()):
        return name
    there = sorted(path.stem.partition("_")[2] for path in (setup.project / place).glob("PROMPT_*.md"))
    raise ConfigurationError(
        f"there is no {place}PROMPT_....md for the mode {one_line(mode, 80)!r}\n  next: one of {', '.join(there)}"
    )


def _prompt(setup: Setup, options: RunOptions, call: Call | None, name: str) -> tuple[Prompt, tuple[str, ...]]:
    """The mode's file, with what the script puts around it as far as that can be told."""
    if options.prompt:
        return file_prompt(setup.project / options.prompt, options.prompt), ()
    whole = file_prompt(setup.project / name, name)
    given = () if call is None else call.prompt or ()
    files = [each for each in given if each.kind == "file" and _PROMPT.fullmatch(os.path.basename(each.text))]
    pieces = [each._replace(text=name) if each in files else each for each in given]
    if len(files) == 1 and can_be_had(pieces, setup.project):
        plain = len(pieces) == 1 or not any(each.text.strip() for each in pieces if each.kind != "file")
        return whole if plain and len(pieces) == 1 else pieces_prompt(pieces, setup.project, options), ()
    if call is None or not given:
        return whole, ()
    where = f"{shown(setup, str(setup.controller))}:{call.line}"
    return whole, (f"{where} puts more into its prompt than can be told: {name} is given as it is",)


def read_plan(setup: Setup) -> Plan | None:
    """How far its plan has come; None: there is none, or it doesn't say."""
    for place in PLACES:
        if (text := plan_text(setup, f"{place}{PLAN}")) is not None:
            return plan.read(text)
    return None


# -- its controller's words -----------------------------------------------------------------------------


def called(controller: Path, words: Sequence[str]) -> tuple[Setup, RunOptions]:
    """Read the words of its controller: a mode, and a number, where 0 is any number of turns.

    Raises:
        SessionRefused: there is no such mode; words that its script may know, and we don't.
    """
    setup = detect(_project_of(controller))
    if setup is None:
        raise SessionRefused(f"Error: {prompt_name(BUILD)} not found")
    place = place_of(setup.project) or ""
    options, left = RunOptions(), [*words]
    while left:
        word = left.pop(0).removeprefix("--")
        if word in _NUMBERS and left:
            word = left.pop(0)
        if word.isascii() and word.isdigit():
            options = replace(options, max_iterations=int(word[:9]) or None)
        elif _MODE.fullmatch(word) and (setup.project / place / prompt_name(word)).is_file():
            options = replace(options, mode=word)
        elif word in (BUILD, PLAN_MODE):
            raise SessionRefused(f"Error: {prompt_name(word)} not found")
        else:
            raise SessionRefused(
                f"Error: {word!r} is no mode, and no number of turns\n"
                f"Usage: {controller.name} [MODE] [N]; for all else: ralph-bridge run --help"
            )
    return setup, options


def _project_of(controller: Path) -> Path:
    """The folder around its script, or above where that is one of the places; a repository's top is a project."""
    folder = controller.parent
    inside = folder.name in ("ralph", ".ralph", "scripts") and not (folder / ".git").exists()
    return folder.parent if inside and detect(folder.parent) is not None else folder
