"""``ralph-bridge init``: a prompt and a plan to begin with."""

from __future__ import annotations

import os
from pathlib import Path

import click

from bridge.base.files import confine, make_folder, usable, write_atomic
from bridge.cli._failures import guarded
from bridge.cli._terminal import say
from bridge.errors import ConfigurationError
from bridge.loop.setups import detect

PROMPT = """\
Study @fix_plan.md and do its first open task, and only that one.

- Look at what is there before you write anything new.
- Run the tests of what you have changed, and mend what fails.
- Tick the task's box in the plan, and add tasks that you have found to be missing.
- Commit all of that with a message that says why.
"""
PLAN = """\
# Plan

- [ ] Describe in README.md what this project is for
"""


@click.command()
@click.option(
    "--project", metavar="DIR", type=click.Path(file_okay=False), help="The project's folder.  [default: .]"
)
def init(*, project: str | None) -> int:
    """Write a prompt (PROMPT.md), a plan (fix_plan.md), and a .gitignore for the loop's own state.

    What is there stays as it is. A folder that has a loop's setup is left alone.

    Exit codes: 0; 2 the folder has a setup.
    """
    with guarded():
        folder = Path(os.path.abspath(project or "."))
        if found := [each for each in detect(folder) if not each.bare]:
            seen = ", ".join(found[0].evidence)
            raise ConfigurationError(
                f"{folder} is a {found[0].name} setup already: {seen}\n  next: ralph-bridge doctor"
            )
        folder.mkdir(parents=True, exist_ok=True)
        confine(folder)
        plans = ("@fix_plan.md", "fix_plan.md")
        plan = next((each for each in plans if os.path.lexists(folder / each)), plans[1])
        files = [("PROMPT.md", PROMPT), (plan, PLAN)]
        with usable(folder):
            if not os.path.lexists(folder / ".ralph"):  # else it may hold the user's own, which is to be committed
                make_folder(folder / ".ralph")
                files.append((".ralph/.gitignore", "*\n"))
            for name, text in files:
                there = os.path.lexists(folder / name)
                if not there:
                    write_atomic(folder / name, text)
                say(f"{name} {'is there already' if there else 'written'}")
        say(f"  next: write your tasks into {plan}, then: ralph-bridge run --max-iterations 10")
        return 0
