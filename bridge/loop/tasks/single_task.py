"""How one task becomes the only one of a loop, in a project of any kind."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.base.files import ANYWHERE
from bridge.base.json_files import read_text
from bridge.errors import ConfigurationError
from bridge.loop.engine.policy import NOT_DONE, Verdict
from bridge.loop.setups import kinds
from bridge.loop.setups.projects import choose
from bridge.loop.setups.prompted.files import own_script
from bridge.loop.tasks.checkboxes import PlanFormat

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.engine.events import IterationEnded, LoopEnded
    from bridge.loop.setups.setup_kind import SetupKind
    from bridge.loop.tasks.task import Task

TASK_FILE = ".ralph_bridge.task.md"
"""Where the task stands in setups whose prompt is a file; one of the loop's own files, so never committed."""

_ASKS = """\
Work on this task, and on nothing else. Commit what you do.

When it is done, close your last answer with this block, and with the words <promise>COMPLETE</promise>:

---RALPH_STATUS---
STATUS: COMPLETE
EXIT_SIGNAL: true
---END_RALPH_STATUS---
"""


ITERATIONS = 50
"""Of one task, where neither user nor setup sets a limit: an agent may say done for ever and tick nothing."""
MISMATCHES = 3
"""Turns in a row that say that the task is done, and tick nothing in a plan with open boxes."""


def is_done(end: LoopEnded) -> bool:
    """Whether a loop has ended because its task is done: there are setups that call other ends complete, too."""
    return end.verdict is Verdict.COMPLETE and end.reason not in NOT_DONE


class Mismatch:
    """Counts turns whose word and whose plan are apart."""

    why = f"{MISMATCHES} turns in a row said that the task is done, and ticked nothing in the plan"
    reason = "plan_mismatch"

    def __init__(self) -> None:
        self._count = 0

    def after(self, event: IterationEnded) -> bool:
        """Whether they have been apart for so long that no further turn is of use."""
        found = event.outcome
        done = found.exit_signal or found.promised
        apart = done and found.plan is not None and not found.plan.complete and not found.ticked
        self._count = self._count + 1 if apart else 0
        return self._count >= MISMATCHES


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A project whose loops work on one task each.

    Attributes:
        kind: of the loop, a name of :func:`bridge.loop.setups.kinds`.
        plan: the fix plan, relative to `folder`; None: there is none.
        home: the folder of the setup's own files, relative to `folder`; '': that is it.
        scripted: a script of its own is what its loops run.
        format: how the plan is read, and ticked.
    """

    folder: Path
    kind: str
    plan: str | None
    home: str
    scripted: bool
    format: PlanFormat

    @property
    def own(self) -> SetupKind:
        return kinds()[self.kind]

    def plan_text(self) -> str | None:
        return None if self.plan is None else read_text(self.folder / self.plan, root=ANYWHERE)

    def fits(self, name: str, text: str, made: str) -> bool:
        """Whether a file of a task's loop can hold `text` in the place of what is made for it: an agent that was
        ended in the middle may have torn its plan."""
        planned = self.own.plan.planned
        if name != self.plan or planned is None:
            return True
        with suppress(ConfigurationError):
            return (planned(text, name) is None) == (planned(made, name) is None)
        return False

    def instructions(
        self, task: Task, prompt: str | None, before: str = ""
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """How one task becomes the only one of a loop: files to write, by their path from the project's folder, and
        options for `Loop.open`.

        Args:
            prompt: the prompt file that was asked for, relative to the project, or None.
            before: what an earlier attempt came to, or ''.

        Raises:
            ConfigurationError: the project's prompt can't be read.
        """
        words = f"{task.prompt}\n\n{before}".strip() if before else task.prompt
        asks = self.own.plan.asks
        told = before if asks == "plan" else ""  # the others have it among their words
        plan = {} if self.plan is None else {self.plan: self.format.only(self.plan_text() or "", task, told)}
        if asks == "task":
            return plan, {"setup": self.kind, "task": words, "tasks": None}
        if asks == "words":
            path = os.path.join(self.home, TASK_FILE)
            # The original's own files are named as its controller is called: from the project's folder.
            return {path: f"{words}\n\n{_ASKS}"}, {"words": ("prompt", path)}
        if asks == "script" and self.scripted and not prompt:
            own = f"# The task\n\n{words}\n\n{_ASKS}"
            # A task's branch leaves the machine when the user says so.
            return plan, {"setup": self.kind, "task": own, "push": False}
        path = f".ralph/{TASK_FILE}"
        if asks == "script":
            shared = self._shared_prompt(prompt, *self.own.plan.prompts)
            own = f"{shared}\n\n" if shared else ""
            further: dict[str, Any] = {"prompt": path, "promise": "COMPLETE"}
            return plan | {path: f"{own}# The task\n\n{words}\n\n{_ASKS}"}, further
        if plan:
            return plan, {}
        shared = self._shared_prompt(prompt)
        own = f"{shared}\n\n# The task\n\n" if shared else ""
        return {path: f"{own}{words}\n\n{_ASKS}"}, {"prompt": path}

    def _shared_prompt(self, prompt: str | None, *usual: str) -> str:
        for name in (prompt,) if prompt else usual or (".ralph/PROMPT.md", "PROMPT.md"):
            if text := read_text(self.folder / name, root=ANYWHERE):
                return text.rstrip()
        if prompt:
            raise ConfigurationError(f"no prompt file: {self.folder / prompt}\n  next: write it, or leave it out")
        return ""


def place_of(folder: Path, kind: str, tasks: str | None = None) -> Place:
    """Look at a project.

    Args:
        tasks: the plan, relative to the project, where its loops would be told which it is.

    Raises:
        ConfigurationError: the plan lies outside; RALPH_DIR leads elsewhere.
    """
    if os.environ.get("RALPH_DIR", "") not in ("", ".ralph"):
        raise ConfigurationError(
            "RALPH_DIR is set: the loops of several tasks have their plan and their state in .ralph\n"
            "  next: unset RALPH_DIR"
        )
    own = kinds()[kind]
    found = choose(folder, kind) if own.copied else None
    home = "." if found is None else os.path.relpath(found.home, os.path.realpath(folder))
    home = "" if home == "." else home
    if tasks and (tasks := os.path.relpath(folder / tasks, folder)).startswith(".."):
        raise ConfigurationError(
            f"--tasks {tasks}: it lies outside of the project\n  next: move it into the project"
        )
    plans = [tasks] if tasks else [os.path.join(home, name) for name in own.plan.files]
    plan = next((name for name in plans if (folder / name).is_file()), plans[0] if own.plan.always else None)
    scripted = found is not None and own_script(found.controller).is_file()
    form = PlanFormat(own.plan, folder)
    return Place(folder=folder, kind=kind, plan=plan, home=home, scripted=scripted, format=form)
