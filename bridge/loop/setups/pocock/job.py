"""What its script is started with, what a run of ours is, and its plan."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE
from bridge.base.json_files import read_text
from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import parse_plan
from bridge.loop.setups.pocock.kind import PLANS
from bridge.loop.setups.prompted.files import file_prompt, own_script, plan_text, shown
from bridge.loop.setups.prompted.job import Job
from bridge.loop.setups.prompted.task_lists import plan_in
from bridge.loop.setups.prompted.words_for import program_of
from bridge.loop.setups.script.arguments import number_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Setup

PROMISE = "COMPLETE"
_DEMANDS = re.compile(r"\bif \[\[? -z \"?\$\{?1(?::?-)?\}?\"? \]")
"""It ends where its first argument is missing. Of any other script only its run tells."""
_MENTIONED = re.compile(r"@(?:\./)?(\w[\w./-]*)")


def words(
    setup: Setup, options: RunOptions, text: str, tell: Callable[[str], None]
) -> tuple[tuple[str, ...], RunOptions]:
    """Say what its script is started with, and what is asked of the run beside that.

    Raises:
        ConfigurationError: nobody says how many turns.
    """
    where = shown(setup, str(setup.controller))
    if setup.flavour == "once":
        tell(f"{where} starts one session for a person")
    asked = options.max_iterations is not None or bool(options.words) or options.script is not None
    if not asked and setup.flavour != "once" and _DEMANDS.search(text):
        raise ConfigurationError(
            f"{where} wants to be told how many turns there are to be, and nothing says so\n"
            "  next: ralph-bridge run --max-iterations 10"
        )
    return number_words(options.max_iterations, text), options


def job(setup: Setup, options: RunOptions) -> Job:
    """Say what a run is whose prompt is named.

    Raises:
        ConfigurationError: there is none, or its plan can't be read.
    """
    read_plan(setup)
    if not options.prompt:
        raise ConfigurationError(f"there is no {shown(setup, setup.controller.name)}\n  next: name a --prompt")
    plan = _plan_file(setup)
    return Job(
        project=setup.project,
        shown=options.prompt,
        prompt=file_prompt(setup.project / options.prompt, options.prompt),
        program=program_of(setup),
        most=1 if setup.flavour == "once" else None,
        promise=PROMISE,
        read_plan=partial(read_plan, setup),
        plan_ends=plan is not None and plan.endswith(".json"),
        used_up=0,
    )


def read_plan(setup: Setup) -> Plan | None:
    """The tasks of its list, or the boxes of its Markdown; None: there are none.

    Raises:
        ConfigurationError: a list can't be read.
    """
    name = _plan_file(setup)
    text = None if name is None else plan_text(setup, name)
    if name is None or text is None:
        return None
    if name.endswith(".json"):
        return plan_in(text, name)
    plan = parse_plan(text)
    return plan if plan.total else None


def _plan_file(setup: Setup) -> str | None:
    """Its plan: of those that its script mentions, else of all that are usual, the first that is there."""
    text = read_text(own_script(setup.controller), root=ANYWHERE) or ""
    mentioned = [each for each in _MENTIONED.findall(text) if "prd" in each.lower()]
    there = [each for each in (*mentioned, *PLANS) if (setup.home / each).is_file()]
    return next(iter(there), None)
