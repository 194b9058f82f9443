"""The checks of ``ralph-bridge doctor`` in a ralph-loop setup: its start-up, taken apart.

``config`` and the agent's script are sourced, as at every start; no hook is called.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError
from bridge.loop.standing import standing
from bridge.setups import standin
from bridge.setups.diagnosis import Answer, Check, NotLookedAt, cli, failed, machine, passed, told, warned
from bridge.setups.ralph_loop import preflight
from bridge.setups.ralph_loop.arguments import Request
from bridge.setups.ralph_loop.detect import NAME
from bridge.setups.ralph_loop.opening import loaded
from bridge.setups.ralph_loop.overview import last_session
from bridge.setups.ralph_loop.plan import PLAN_FILE, parse, plan_type
from bridge.setups.ralph_loop.settings import Options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.model import Setup

__all__ = ["CHECKS", "NAME", "Case"]

_TEMPLATES = ("plan.md", "build.md")


class Loaded(NamedTuple):
    """What sourcing ``config`` and the agent's script has shown.

    Attributes:
        script: the agent's.
        name: the agent's, as ``config`` has it.
        cli: its program; empty without one.
        runs: bash finds that program, or a function of that name.
        specs: SPECS_DIR.
        iterations: the most of a session.
        retries: MAX_RETRIES.
    """

    script: Path
    name: str
    cli: str
    runs: bool
    specs: str
    iterations: int
    retries: int


class Case:
    """What the checks get to see; ``config`` is code, and is sourced once.

    Args:
        setup: the setup that was found.
        env: the environment that a loop would have.
    """

    def __init__(self, setup: Setup, env: Mapping[str, str]) -> None:
        self.setup = setup
        self.env = env
        self.project = setup.project
        self.home = setup.home

    def name_of(self, path: Path) -> str:
        """`path` as people in the project would write it."""
        real = self.project.resolve()
        return str(path.relative_to(real)) if path.is_relative_to(real) else str(path)

    @cached_property
    def outcome(self) -> Loaded | BridgeError:
        """What loading the agent has shown, or why that can't be done, with the controller's words."""
        try:
            with loaded(
                self.setup, Request("build"), Options(), lambda _text: None, env=dict(self.env), timeout=10
            ) as (agent, config):
                return Loaded(
                    agent.script,
                    config.agent,
                    agent.cli,
                    bool(agent.cli) and agent.shell.call("command", "-v", "--", agent.cli).ok,
                    config.specs_dir,
                    config.max_iterations,
                    config.max_retries,
                )
        except BridgeError as error:
            return error

    @property
    def loaded(self) -> Loaded:
        """The same, for checks of something else.

        Raises:
            NotLookedAt: it can't be loaded, which the check of ``config`` reports.
        """
        if isinstance(self.outcome, BridgeError):
            raise NotLookedAt("config or the agent's script can't be used")
        return self.outcome


def _kind(case: Case) -> Answer:
    return passed(f"ralph-loop: {', '.join(case.setup.evidence)}")


def _controller(case: Case) -> Answer:
    if standin.state_of(case.setup.controller) is standin.State.ORIGINAL:
        return passed("the original (`ralph-bridge adopt` stands in for it)")
    return passed("ralph-bridge stands in for it")


def _config(case: Case) -> Answer:
    found = case.outcome
    if isinstance(found, BridgeError):
        return told(found)
    seen = f"{found.name}, at most {found.iterations} iterations, {found.retries} retries"
    if found.iterations < 1:
        return warned(f"{seen}: a session does nothing", "set DEFAULT_MAX_ITERATIONS in config")
    return passed(f"{seen}: {case.name_of(found.script)}")


def _contract(case: Case) -> Answer:
    script = case.loaded.script
    return cli.contract(script, case.name_of(script))


def _available(case: Case) -> Answer:
    found = case.loaded
    if not found.cli:
        return failed(f"{case.name_of(found.script)} does not set AGENT_CLI", "let it name its program")
    if found.runs and cli.find(found.cli, case) is None:
        return passed(f"{found.cli}, a function of the script")
    return cli.installed(found.cli, case)


def _options(case: Case) -> Answer:
    found = case.loaded
    return cli.options(found.script, case.name_of(found.script), found.cli, case)


def _repository(case: Case) -> Answer:
    try:
        preflight.repository(case.project, strict=False)
    except BridgeError as error:
        return told(error, "git init")
    return passed()


def _specs(case: Case) -> Answer:
    place = case.loaded.specs
    if not (case.project / place).is_dir():
        return failed(f"{place}/ does not exist", f"mkdir {place}, and write what is to be built there")
    count = sum(1 for path in (case.project / place).rglob("*.md") if path.is_file())
    return passed(f"{place}/, {count} files") if count else warned(f"{place}/ has no .md file", "write one")


def _prompts(case: Case) -> Answer:
    folder = case.home / "prompts"
    missing = [name for name in _TEMPLATES if not (folder / name).is_file()]
    if missing:
        names = ", ".join(case.name_of(folder / name) for name in missing)
        return failed(
            f"missing: {names}", f"{os.path.join('.', case.name_of(case.setup.controller))} update, or write them"
        )
    return passed(", ".join(case.name_of(folder / name) for name in _TEMPLATES))


def _plan(case: Case) -> Answer:
    path = case.home / PLAN_FILE
    if not path.is_file():
        return passed("none yet: the first run plans")
    text = preflight.read(path)
    found = parse(text)
    tasks = found.tasks
    done = sum(task.complete for task in tasks)
    if not tasks:
        return warned(f"{case.name_of(path)} has no `### Task` heading", "ralph-bridge run plan")
    seen = f"{done} of {len(tasks)} tasks complete"
    if found.complete:
        return warned(f"{seen}: a build ends at once", "ralph-bridge run plan, for what comes next")
    if plan_type(text) == "process":
        seen += ", a process plan"
    return passed(seen)


def _ignored(case: Case) -> Answer:
    folder = case.name_of(case.home / "logs") + "/"
    if not machine.unignored(case, [f"{folder}session.log"]):
        return passed()
    return warned(f"git does not ignore {folder}", f"echo {folder} >> .gitignore")


def _ignore(case: Case) -> str:
    folder = case.name_of(case.home / "logs") + "/"
    # A pattern without a slash before its end would match folders of that name anywhere.
    return machine.ignore(case, [f"{folder}session.log"], [folder if folder.count("/") > 1 else f"/{folder}"])


def _lock(case: Case) -> Answer:
    where = standing(case.home / "logs")
    if not where.running:
        return passed("no loop is at work")
    return passed(f"a loop is at work: process {where.run.pid if where.run else 'unknown'}")


def _orphans(case: Case) -> Answer:
    return machine.orphans(case, case.home / "logs")


def _end_orphans(case: Case) -> str:
    return machine.end_orphans(case, case.home / "logs")


def _last(case: Case) -> Answer:
    session = last_session(case.home)
    if session is None:
        return passed("none yet")
    seen = f"{case.name_of(session.log)}: {session.ending or 'not ended in order'}"
    if session.ending or standing(case.home / "logs").running:
        return passed(seen)
    return warned(seen, f"tail {case.name_of(session.log)}")


CHECKS: Mapping[str, Check[Case]] = {
    "bash-available": Check("bash available", machine.bash),
    "git-repo": Check("git repository", _repository),
    "jq-available": Check("jq available", machine.jq),
    "disk-space": Check("disk space", machine.disk),
    "ralph-project": Check("a project that the loop can run in", _kind),
    "unserved": Check("nothing is asked for that no loop here does", machine.unserved),
    "ralph-loop": Check("the controller", _controller),
    "config": Check("config can be used, and the agent loads", _config, 60),
    "agent-contract": Check("the agent meets the contract", _contract, 120),
    "cli-available": Check("the agent's CLI is installed", _available, 60),
    "cli-drift": Check("the agent's CLI knows the script's options", _options, 90),
    "specs": Check("there are specifications", _specs, 60),
    "prompts": Check("the prompts' templates are there", _prompts),
    "plan": Check("the plan has open tasks", _plan),
    "gitignore": Check("git ignores the logs", _ignored, 60, _ignore),
    "second-loop": Check("no second loop", _lock),
    "orphaned-agents": Check("no agent without a loop", _orphans, fix=_end_orphans),
    "last-session": Check("the last session ended in order", _last),
}
"""By their stable ids; those that other setups have, too, are called as there."""
