"""What its script is started with, what a run of ours is, and its stories."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.setups.prompted.files import file_prompt, plan_text, shown
from bridge.loop.setups.prompted.job import Job
from bridge.loop.setups.prompted.task_lists import plan_in
from bridge.loop.setups.prompted.words_for import program_of, require_prompts, tool_words
from bridge.loop.setups.script.arguments import number_words
from bridge.loop.setups.snarktank.kind import PRD, PROMPTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Setup

MOST, PAUSE, PROMISE = 10, 2.0, "COMPLETE"


def words(
    setup: Setup, options: RunOptions, text: str, tell: Callable[[str], None]
) -> tuple[tuple[str, ...], RunOptions]:
    """Say what its script is started with, and what is asked of the run beside that.

    Raises:
        ConfigurationError: there is no prompt.
    """
    for each in require_prompts(PROMPTS, setup.home, partial(shown, setup), text):
        tell(each)
    tool, left = tool_words(options, setup, text, "claude")
    return (*number_words(options.max_iterations, text), *tool), left


def job(setup: Setup, options: RunOptions) -> Job:
    """Say what a run is whose prompt is named.

    Raises:
        ConfigurationError: its stories can't be read, it has no prompt.
    """
    read_plan(setup)
    if not options.prompt:
        raise ConfigurationError(f"there is no {shown(setup, setup.controller.name)}\n  next: name a --prompt")
    return Job(
        project=setup.project,
        shown=options.prompt,
        prompt=file_prompt(setup.project / options.prompt, options.prompt),
        program=program_of(setup),
        most=MOST,
        promise=PROMISE,
        read_plan=partial(read_plan, setup),
        noun="story",
        nouns="stories",
        pause=PAUSE,
    )


def read_plan(setup: Setup) -> Plan | None:
    """The stories; None: there are none.

    Raises:
        ConfigurationError: they can't be read.
    """
    text = plan_text(setup, PRD)
    return None if text is None else plan_in(text, shown(setup, PRD))
