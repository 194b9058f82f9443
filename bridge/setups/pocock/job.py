"""What a run is, and what its controller's words ask for."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError, SessionRefused
from bridge.loop.plan import parse_plan
from bridge.setups.options import RunOptions
from bridge.setups.pocock.kind import LOOPS, ONCE, PLANS, at
from bridge.setups.prompted.files import plan_text, shown
from bridge.setups.prompted.job import Job
from bridge.setups.prompted.prompts import file_prompt, pieces_prompt
from bridge.setups.prompted.script import Script
from bridge.setups.prompted.task_lists import plan_in
from bridge.setups.prompted.tools import call_for, tool_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bridge.loop.plan import Plan
    from bridge.setups.model import Setup
    from bridge.setups.prompted.calls import Call
    from bridge.setups.prompted.job import Prompt

PROMISE, CLI = "COMPLETE", "claude"
_BY_DEFAULT = re.compile(r"\$\{1:-(\d{1,6})\}")
_MENTIONED = re.compile(r"(?<!\S)@(?:\./)?(\w[\w./-]*)")


def job(setup: Setup, options: RunOptions) -> Job:
    """Say what a run is.

    Raises:
        ConfigurationError: nobody says how many turns; its plan can't be read, its prompt can't be made.
    """
    script = Script.behind(setup.controller, setup.project)
    own, call = script.by_default, call_for(script, options)
    where = shown(setup, str(setup.controller))
    plan = _plan_file(setup, script)
    read_plan(setup, plan)
    prompt, name = _prompt(setup, options, call or own, where)
    ends = script.promises
    return Job(
        project=setup.project,
        shown=name,
        prompt=prompt,
        tool=tool_of(call, options, own.tool.program if own is not None else CLI),
        most=_most(setup, options, script, where),
        promise=next((text for text, status in ends.items() if status == 0), PROMISE),
        gives_up=next((text for text, status in ends.items() if status), None),
        read_plan=partial(read_plan, setup, plan),
        plan_ends=plan is not None and plan.endswith(".json"),
        used_up=0,
        notes=tuple(_notes(script, call, where)),
    )


def _most(setup: Setup, options: RunOptions, script: Script, where: str) -> int:
    """How many turns: as its script, this is told; one that starts a single session does so once."""
    if options.max_iterations is not None:
        return options.max_iterations
    if setup.flavour == "once":
        return 1
    if found := _BY_DEFAULT.search(script.text):
        return int(found[1])
    raise ConfigurationError(
        f"{where} wants to be told how many turns there are to be, and nothing says so\n"
        "  next: ralph-bridge run --max-iterations 10"
    )


def _prompt(setup: Setup, options: RunOptions, call: Call | None, where: str) -> tuple[Prompt, str]:
    if options.prompt:
        return file_prompt(setup.project / options.prompt, options.prompt), options.prompt
    if call is None or call.prompt is None:
        raise ConfigurationError(
            f"{where} gives no CLI that is known a prompt\n"
            "  next: write the prompt into a file, and name it with --prompt"
        )
    return pieces_prompt(call.prompt, setup.project, options, name=where), f"{where}:{call.line}"


def _notes(script: Script, call: Call | None, where: str) -> Iterator[str]:
    if call is None:
        return
    others = {
        each.prompt: each.line for each in script.calls if each.looped and each.prompt and each.cli is call.cli
    }
    if len(others) > 1 and call.prompt in others:
        lines = ", ".join(str(line) for line in others.values())
        yield f"{where} has several prompts (lines {lines}); a turn here is that of line {call.line}"
    if call.boxed:
        yield (
            f"{where} starts {call.tool.program} in a sandbox of Docker's; here it runs without one, in the project"
            " itself"
        )
    if lost := call.parsed[2]:
        yield f"{where}:{call.line}: only bash could tell the value of {', '.join(lost)}; it is left out"


# -- its plan -----------------------------------------------------------------------------------------


def read_plan(setup: Setup, name: str | None = None) -> Plan | None:
    """The tasks of its list, or the boxes of its Markdown; None: there are none.

    Raises:
        ConfigurationError: a list can't be read.
    """
    name = name or _plan_file(setup, Script.behind(setup.controller, setup.project))
    text = None if name is None else plan_text(setup, name)
    if name is None or text is None:
        return None
    if name.endswith(".json"):
        return plan_in(text, name)
    plan = parse_plan(text)
    return plan if plan.total else None


def _plan_file(setup: Setup, script: Script) -> str | None:
    """Its plan: of those that its prompt mentions, else of all that are usual, the first that is there."""
    words = " ".join(each.text for each in script.prompt)
    mentioned = [each for each in _MENTIONED.findall(words) if "prd" in each.lower()]
    there = [each for each in (*mentioned, *PLANS) if (setup.home / each).is_file()]
    return next(iter(there), None)


# -- its controller's words -----------------------------------------------------------------------------


def called(controller: Path, words: Sequence[str]) -> tuple[Setup, RunOptions]:
    """Read the words of its controller: the first is the number of turns, nothing else counts.

    Raises:
        SessionRefused: it is none.
    """
    name = next(each for each in (*LOOPS, *ONCE) if str(controller).endswith(f"/{each}"))
    setup = at(controller.parents[name.count("/")], name)
    if not words and _BY_DEFAULT.search(Script.behind(setup.controller, setup.project).text):
        return setup, RunOptions()
    if not words or not re.fullmatch(r"[0-9]*[1-9][0-9]*", words[0]):
        raise SessionRefused(f"Usage: {_as_typed(controller)} <iterations>")
    return setup, RunOptions(max_iterations=int(words[0][-9:]))


def _as_typed(controller: Path) -> str:
    path = os.path.relpath(controller)
    return path if "/" in path else f"./{path}"
