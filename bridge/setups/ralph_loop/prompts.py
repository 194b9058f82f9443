"""The prompt of an attempt: the template, filled with what the living bash exports and the plan's slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.setups.ralph_loop import plan as plans
from bridge.setups.ralph_loop.preflight import process_files, read
from bridge.setups.ralph_loop.templates import fill, volume_hint

if TYPE_CHECKING:
    from bridge.setups.ralph_loop.session import Session
    from bridge.shell import Shell

__all__ = ["Prompts", "Slices", "first_prompt", "slices"]

_EXPORTED = ("MODE", "SPECS_DIR", "RALPH_HOME", "PROCESS_DIR")
_SLICES = ("PLAN_HEADER", "TASK_OVERVIEW", "SELECTED_TASK", "ADJACENT_CONTEXT")
_HINT = "SPEC_VOLUME_HINT"

_MOST_EXPORTED = 65_536
"""Characters. Linux refuses to start any program with a variable over 128 KiB in its environment; templates get a
longer slice all the same."""


@dataclass(frozen=True, slots=True)
class Slices:
    """The plan for one iteration.

    Attributes:
        values: variable to text, for the template.
        complete: there are tasks, and all are done.
        waiting: headings of the open tasks, when none of them can be started.
    """

    values: dict[str, str]
    complete: bool = False
    waiting: tuple[str, ...] = ()


def slices(text: str, *, process: bool, strict: bool) -> Slices:
    """Cut the plan for the next iteration.

    Args:
        text: the plan.
        process: it is of the type ``process``, whose prompts hand out one task each.
        strict: only such plans have a selected task, and having none is nothing special.
    """
    plan = plans.parse(text)
    values = dict.fromkeys(_SLICES, "") | {
        "PLAN_HEADER": plans.header(text).rstrip("\n"),
        "TASK_OVERVIEW": plans.overview(plan).rstrip("\n") if plan.tasks else "",
    }
    if not plan.tasks or (strict and not process):
        return Slices(values)
    chosen = plans.select(plan)
    if chosen is not None:
        values |= {"SELECTED_TASK": chosen.task, "ADJACENT_CONTEXT": chosen.adjacent}
    elif process and not strict:
        waiting = tuple(task.heading.removeprefix("### ") for task in plan.tasks if not task.complete)
        return Slices(values, plan.complete, waiting)
    return Slices(values)


class Prompts:
    """Makes the prompts of a session.

    Args:
        shell: the agent's bash. What is exported there is also in the environment of the agent's program.
        session: what is to be done.
    """

    def __init__(self, shell: Shell, session: Session) -> None:
        self._shell = shell
        self._session = session
        self._long: dict[str, str] = {}
        names = [*_EXPORTED]
        if session.job.mode == "build":
            names += _SLICES
        if session.job.mode == "plan" and session.job.process:
            names.append(_HINT)
            shell[_HINT] = self._hint()
        shell.execute(f"export {' '.join(names)}")

    def _hint(self) -> str:
        files = process_files(self._session.folder, self._session.config)
        return volume_hint(len(files), sum(path.stat().st_size for path in files))

    def take(self, cut: Slices) -> None:
        """Use these slices from now on."""
        most = float("inf") if self._session.strict else _MOST_EXPORTED
        short = {name: text for name, text in cut.values.items() if len(text) <= most}
        self._long = {name: text for name, text in cut.values.items() if name not in short}
        self._shell.update(short | dict.fromkeys(self._long, ""))

    def text(self) -> str:
        """The template as it is now, filled.

        Exported variables have values, as for ``envsubst``; unless strict also those that ``config`` defines.

        Raises:
            bridge.errors.ProjectUnusable: the template can't be read (any more).
        """
        config = self._session.config
        values = {
            name: found.items["0"]
            for name, found in self._shell.snapshot().items()
            if "0" in found.items and (found.exported or (name in config.names and not self._session.strict))
        }
        return fill(read(self._session.job.template), values | self._long)


def first_prompt(shell: Shell, session: Session) -> str:
    """The prompt that the first iteration would get."""
    prompts = Prompts(shell, session)
    if session.job.mode == "build":
        prompts.take(slices(read(session.job.plan), process=session.job.process, strict=session.strict))
    return prompts.text()
