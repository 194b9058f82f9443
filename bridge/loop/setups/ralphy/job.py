"""What a run is: one task per turn, which is ticked when its turn went well."""

from __future__ import annotations

import hashlib
import textwrap
import time
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from bridge.base.files import append_durably, read_bytes, usable
from bridge.base.git.repository import find_repository
from bridge.base.records import dataclass
from bridge.errors import BridgeError, ConfigurationError, ProjectUnusable
from bridge.loop.setups.prompted.job import Job, Refused
from bridge.loop.setups.ralphy.config import is_named, read_config
from bridge.loop.setups.ralphy.kind import LISTS, PROGRESS
from bridge.loop.setups.ralphy.tasks import files_of, in_words, next_of, plan_of, read_tasks, tick
from bridge.loop.turn.tool import first_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.base.git.tree import TreeState
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.ralphy.config import Config
    from bridge.loop.setups.ralphy.tasks import Task
    from bridge.loop.setups.setup_kind import Setup

_TRIES = 3
"""Turns in a row that may fail with one task."""
_SHOWN = 5
CLI = "claude"
"""What the original runs unless an option says otherwise; its configuration names none."""


def job(setup: Setup, options: RunOptions) -> Job:
    """Say what a run is.

    Raises:
        ConfigurationError: its configuration or its tasks can't be read; there is no task.
    """
    project, config = setup.project, read_config(setup.project)
    run = _Run(project, config, options.tasks, options.task)
    files = files_of(project, options.tasks)
    if options.task is None and not read_tasks(project, options.tasks):
        looked = ", ".join(files) or options.tasks or f"{', '.join(LISTS[:5])}, and the same in .ralphy"
        raise ConfigurationError(
            f"no tasks: looked for lines such as `- [ ] write the parser`, or a list of tasks, in {looked}\n"
            "  next: write them into PRD.md, or name another file with --tasks"
        )
    unseen = "boundaries.never_touch is only told to the agent: without git nobody sees what a turn changes"
    return Job(
        project=project,
        shown=files[0] if options.task is None else "the task",
        prompt=run.prompt,
        program=CLI,
        most=None,
        read_plan=run.read_plan,
        notes=(unseen,) if config.never_touch and find_repository(project) is None else (),
        judge=run.judge,
        after=run.after,
    )


def read_plan(setup: Setup) -> Plan | None:
    """How far its tasks have come; None: there are none."""
    tasks = read_tasks(setup.project, None)
    return plan_of(tasks) if tasks else None


@dataclass
class _Run:
    """Where a run stands.

    Attributes:
        named: the list of tasks that was asked for. words: the only task, in words.
        task: of the turn that is under way. tries: turns in a row that failed with it. why: what was wrong then.
        tree, contents: of the working tree, and of files that must not change, before its first turn.
        aside: those that were given up; `row` so many in a row.
        told: what people should know of the turn.
    """

    project: Path
    config: Config
    named: str | None
    words: str | None
    done: bool = False
    task: Task | None = None
    tries: int = 0
    why: str = ""
    tree: TreeState | None = None
    contents: dict[str, str] = field(default_factory=dict)
    aside: set[tuple[str, str]] = field(default_factory=set)
    row: int = 0
    told: list[str] = field(default_factory=list)

    def tasks(self) -> list[Task]:
        if self.words is None:
            return read_tasks(self.project, self.named)
        return [in_words(self.words, done=self.done)]

    def read_plan(self) -> Plan:
        plan = plan_of(self.tasks(), self.aside)
        return plan if self.row < _TRIES else replace(plan, next_task=None)

    def prompt(self, _turn: int) -> bytes:
        try:
            found = next_of(self.tasks(), self.aside)
        except ConfigurationError:
            if self.task is None:
                raise
            found = self.task  # which has spoiled the list, and is told so
        if found is None and self.aside:
            raise ConfigurationError("no task is open\n  next: add one to the list")
        if found is None:  # and the loop is not complete all the same
            found = in_words("All tasks are done. Do what else you are told to, and nothing beside it.", done=True)
        if self.task is None or self.task[:2] != found[:2]:
            self.tries, self.why, self.tree, self.contents = 0, "", None, self._contents()
        self.task = found
        progress = (self.project / PROGRESS).is_file()
        return prompt(found, self.config, self.why, progress=progress).encode("utf-8", "surrogateescape")

    def judge(self, outcome: Outcome, turn: Turn) -> Outcome:
        """Tick the task, or keep it open; a turn that changed what must not change has failed."""
        self.tree = self.tree or turn.tree
        if self.task is None:  # there was nothing to send
            return outcome
        if outcome.failure is not None and outcome.limit is not None:  # it is repeated, and doesn't count
            self._open(self.task)
            return outcome
        wrong = self._touched(turn)
        if wrong:
            self.told.append(f"{wrong}: {self.task.shown!r} stays open")
        well = outcome.failure is None and not outcome.timed_out and not outcome.denied and not wrong
        if well:
            try:
                self._well(self.task)
            except BridgeError as error:
                well, wrong = False, first_line(error)
        if not well:
            self._open(self.task)
            self._failed(self.task, wrong or outcome.failure or "it was not brought to its end")
        if self.task is None and not self.tasks():
            raise ProjectUnusable(
                "the list has no tasks any more\n  next: bring them back (git log -p shows what happened)"
            )
        return Refused.made_of(outcome, wrong) if wrong else outcome

    def after(self, _outcome: Outcome) -> Iterable[str]:
        told, self.told = self.told, []
        return told

    # -- what a turn came to -------------------------------------------------------------------------

    def _touched(self, turn: Turn) -> str:
        """Say which files were changed since the task's first turn that must not be; ''."""
        now = self._contents()
        found = {name for name, digest in now.items() if digest != self.contents.get(name, digest)}
        changes = turn.changes if self.tree is turn.tree else turn.repository.changes(self.tree)
        if changes is not None and now:
            prefix = turn.repository.prefix
            inside = (path.removeprefix(prefix) for path in changes.paths if path.startswith(prefix))
            found |= {each for each in inside if any(is_named(each, rule) for rule in now)}
        if not found:
            return ""
        names = [*sorted(found)[:_SHOWN], *([f"{len(found) - _SHOWN} more"] if len(found) > _SHOWN else ())]
        return f"it changed {', '.join(names)}, which boundaries.never_touch names"

    def _contents(self) -> dict[str, str]:
        """Digests of what must not change, '' for patterns and folders: git may ignore a file, such as ``.env``."""
        found = {}
        for name in self.config.never_touch:
            found[name] = ""
            with suppress(OSError, ValueError, BridgeError):
                found[name] = hashlib.sha256(read_bytes(self.project / name)).hexdigest()
        return found

    def _well(self, task: Task) -> None:
        if self.words is None and (missed := tick(self.project, task)):
            self.told.append(missed)
        self.done, self.task, self.row = True, None, 0
        self._log("✓", task)

    def _open(self, task: Task) -> None:
        """A box that the agent has ticked in such a turn is opened again."""
        with suppress(BridgeError):  # which is told of in the next turn
            if self.words is None:
                tick(self.project, task, done=False)

    def _failed(self, task: Task, why: str) -> None:
        self.tries, self.why = self.tries + 1, why
        if self.tries < _TRIES:
            return
        self.task, self.row = None, self.row + 1
        self.aside.add(task[:2])
        self._log("✗", task)
        self.told.append(
            f"{task.shown!r} stays open: {_TRIES} turns in a row failed, and this run leaves it at that"
        )
        if self.row == _TRIES:
            self.told.append(f"{_TRIES} tasks in a row were given up: no other one is begun")

    def _log(self, sign: str, task: Task) -> None:
        """Add a line to the log of progress, where there is one, as the original does."""
        path = self.project / PROGRESS
        try:
            if path.is_file():
                line = f"- [{sign}] {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} - {task.shown}\n"
                with usable(PROGRESS):
                    append_durably(path, line.encode("utf-8", "surrogateescape"))
        except BridgeError as error:
            self.told.append(first_line(error))


# -- what is sent ---------------------------------------------------------------------------------------


def prompt(task: Task, config: Config, why: str, *, progress: bool) -> str:
    """Write a turn's prompt.

    Args:
        task: what is to be done.
        config: what the project says about itself, and what it asks of everybody.
        why: what was wrong with the turn before, which had the same task; or ''.
        progress: there is a log of progress.
    """
    section = f", section {task.heading!r}" if task.heading else ""
    source = (
        f"It comes from {task.file}{section}; read there what you need to know about the rest.\n"
        if task.file
        else ""
    )
    again = "What it changed is still there: put back first what should not have been changed."
    before = f"A turn before this one had the same task, and did not go well: {why}. {again}\n" if why else ""
    closed = [task.file, PROGRESS, *config.never_touch]
    test, lint, build = (config.commands.get(each) for each in ("test", "lint", "build"))
    steps = [
        "Do the task, whole.",
        f"Write tests for it, and run {f'`{test}`' if test else 'all tests'} until they pass.",
        f"Run {f'`{lint}`' if lint else 'the linter, if there is one,'} and mend what it finds.",
        f"Run `{build}`, which has to succeed." if build else "",
        "Commit it, with a message that says what has changed.",
    ]
    parts = (
        ("The task", f"{task.text.strip()}\n\n{source}Work on this one and on no other.\n{before}"),
        ("The project", _listed([f"{name}: {value}" for name, value in config.facts.items()])),
        ("Commands", _listed([f"{name}: `{value}`" for name, value in config.commands.items()])),
        ("Rules, all of which hold", _listed(config.rules)),
        ("Don't change these", _listed([each for each in closed if each])),
        ("How to go about it", "".join(f"{n}. {step}\n" for n, step in enumerate(filter(None, steps), 1))),
        ("What was done before", f"{PROGRESS} has it, a line each.\n" if progress else ""),
        ("The end", "The box of the task is ticked for you when the turn has gone well.\n" if task.file else ""),
    )
    return "\n".join(f"# {title}\n\n{text}" for title, text in parts if text)


def _listed(texts: Iterable[str]) -> str:
    return "".join(f"- {textwrap.indent(each, '  ').strip()}\n" for each in texts)
