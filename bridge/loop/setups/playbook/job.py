"""What its script is started with, what a run of ours is, and its plan."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from bridge.base.wording import one_line
from bridge.errors import ConfigurationError
from bridge.loop.setups.playbook import plan
from bridge.loop.setups.playbook.kind import BUILD, PLACES, PLAN, PLAN_MODE, place_of, prompt_name
from bridge.loop.setups.prompted.files import file_prompt, plan_text
from bridge.loop.setups.prompted.job import Job
from bridge.loop.setups.prompted.words_for import program_of, require_prompts
from bridge.loop.setups.script.arguments import number_words, takes_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Setup

_MODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def words(
    setup: Setup, options: RunOptions, text: str, tell: Callable[[str], None]
) -> tuple[tuple[str, ...], RunOptions]:
    """Say what its script is started with, and what is asked of the run beside that.

    Raises:
        ConfigurationError: there is no prompt for the mode, or the script takes none.
    """
    del tell
    name = _prompt_file(setup, options.mode or BUILD)
    if not options.words:
        path = setup.project / name
        require_prompts([path.name], path.parent, lambda _: name, text, begin="PROMPT_")
    if options.mode and not takes_words(text):
        what = f"--mode {options.mode}: {setup.controller.name} takes no words"
        raise ConfigurationError(f"{what}\n  next: leave it out, or --prompt {name}")
    mode = (options.mode,) if options.mode else ()
    return number_words(options.max_iterations, text, mode, BUILD), options


def job(setup: Setup, options: RunOptions) -> Job:
    """Say what a run is without a script, or with a prompt that is named.

    Raises:
        ConfigurationError: there is no such prompt.
    """
    mode = options.mode or BUILD
    name = options.prompt or _prompt_file(setup, mode)
    return Job(
        project=setup.project,
        shown=name,
        prompt=file_prompt(setup.project / name, name),
        program=program_of(setup),
        most=None,
        read_plan=partial(read_plan, setup),
        plan_ends=False,
        idle_ends=mode == BUILD,
        used_up=0,
        complete=True,
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


def read_plan(setup: Setup) -> Plan | None:
    """How far its plan has come; None: there is none, or it doesn't say."""
    for place in PLACES:
        if (text := plan_text(setup, f"{place}{PLAN}")) is not None:
            return plan.read(text)
    return None
