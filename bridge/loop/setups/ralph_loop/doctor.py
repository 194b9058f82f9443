"""The checks of ``ralph-bridge doctor`` in a ralph-loop setup: its start-up, taken apart.

``config`` and the agent's script are sourced, as at every start; no hook is called.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.wording import plural
from bridge.errors import BridgeError, ProjectCodeNotRun
from bridge.loop.engine.lock import standing
from bridge.loop.setups import standin
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, Skipped, checks, failed, failed_with, passed, warned
from bridge.loop.setups.options import RunOptions
from bridge.loop.setups.ralph_loop import settings
from bridge.loop.setups.ralph_loop.controller import RalphRequest
from bridge.loop.setups.ralph_loop.opening import loaded
from bridge.loop.setups.ralph_loop.overview import last_session
from bridge.loop.setups.ralph_loop.plan import PLAN_FILE, parse, plan_type

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.setups.ralph_loop.settings import Config
    from bridge.loop.setups.setup_kind import Setup


class LoadedAgent(NamedTuple):
    """What sourcing ``config`` and the agent's script has shown."""

    script: Path
    program: str  # the agent's; empty without one
    runs: bool  # bash finds that program, or a function of that name
    config: Config  # as it counts


class RalphCase:
    """What the checks get to see; ``config`` is code, and is sourced once."""

    def __init__(self, setup: Setup, env: Mapping[str, str]) -> None:
        self.setup = setup
        self.env = env
        self.project = setup.project
        self.home = setup.home

    def name_of(self, path: Path) -> str:
        real = self.project.resolve()
        return str(path.relative_to(real)) if path.is_relative_to(real) else str(path)

    @cached_property
    def outcome(self) -> LoadedAgent | BridgeError:
        """What loading the agent has shown, or why that can't be done, with the controller's words."""
        try:
            with loaded(
                self.setup,
                RalphRequest("build"),
                RunOptions(),
                lambda _text: None,
                env=dict(self.env),
                timeout=10,
            ) as (agent, config):
                runs = bool(agent.cli) and agent.shell.call("command", "-v", "--", agent.cli).ok
                return LoadedAgent(agent.script, agent.cli, runs, config)
        except BridgeError as error:
            return error

    @property
    def loaded(self) -> LoadedAgent:
        """The same, for other checks than that of ``config``, which reports what is wrong; raises `Skipped`."""
        if isinstance(self.outcome, BridgeError):
            state = "was not loaded" if isinstance(self.outcome, ProjectCodeNotRun) else "can't be used"
            raise Skipped(f"config or the agent's script {state}")
        return self.outcome


def _kind(case: RalphCase) -> Examined:
    return passed(f"ralph-loop: {', '.join(case.setup.evidence)}")


def _controller(case: RalphCase) -> Examined:
    if standin.state_of(case.setup.controller) is standin.StandInState.ORIGINAL:
        return passed("the original (`ralph-bridge adopt` stands in for it)")
    return passed("ralph-bridge stands in for it")


def _config(case: RalphCase) -> Examined:
    found = case.outcome
    if isinstance(found, BridgeError):
        return failed_with(found)
    config = found.config
    seen = f"{config.agent}, at most {config.max_iterations} iterations, {config.max_retries} retries"
    if config.max_iterations < 1:
        return warned(f"{seen}: a session does nothing", "set DEFAULT_MAX_ITERATIONS in config")
    return passed(f"{seen}: {case.name_of(found.script)}")


def _contract(case: RalphCase) -> Examined:
    script = case.loaded.script
    return checks.contract(script, case.name_of(script))


def _available(case: RalphCase) -> Examined:
    found = case.loaded
    if not found.program:
        return failed(f"{case.name_of(found.script)} does not set AGENT_CLI", "let it name its program")
    if found.runs and checks.find(found.program, case) is None:
        return passed(f"{found.program}, a function of the script")
    return checks.installed(found.program, case)


def _options(case: RalphCase) -> Examined:
    found = case.loaded
    return checks.options(found.script, case.name_of(found.script), found.program, case)


def _repository(case: RalphCase) -> Examined:
    try:
        settings.repository(case.project, strict=False)
    except BridgeError as error:
        return failed_with(error, "git init")
    return passed()


def _specs(case: RalphCase) -> Examined:
    name = case.loaded.config.specs_dir
    folder = case.project / name
    if not folder.is_dir():
        return failed(f"{name}/ does not exist", f"mkdir {name}, and write specifications there")
    count = sum(path.is_file() for path in folder.rglob("*.md"))
    return passed(f"{name}/, {plural(count, 'file')}") if count else warned(f"{name}/ has no .md file", "write one")


def _prompts(case: RalphCase) -> Examined:
    paths = [case.home / "prompts" / name for name in ("plan.md", "build.md")]
    if missing := [case.name_of(path) for path in paths if not path.is_file()]:
        update = os.path.join(".", case.name_of(case.setup.controller))
        return failed(f"missing: {', '.join(missing)}", f"{update} update, or write them")
    return passed(", ".join(map(case.name_of, paths)))


def _plan(case: RalphCase) -> Examined:
    path = case.home / PLAN_FILE
    if not path.is_file():
        return passed("none yet: the first run plans")
    text = settings.read(path)
    found = parse(text)
    if not found.tasks:
        return warned(f"{case.name_of(path)} has no `### Task` heading", "ralph-bridge run plan")
    seen = f"{found.done} of {len(found.tasks)} tasks complete"
    if found.complete:
        return warned(f"{seen}: a build ends at once", "ralph-bridge run plan, for what comes next")
    if plan_type(text) == "process":
        seen += ", a process plan"
    return passed(seen)


def _ignored(case: RalphCase) -> Examined:
    folder = case.name_of(case.home / "logs") + "/"
    if not checks.unignored(case, [f"{folder}session.log"]):
        return passed()
    return warned(f"git does not ignore {folder}", f"echo {folder} >> .gitignore")


def _ignore(case: RalphCase) -> str:
    folder = case.name_of(case.home / "logs") + "/"
    # A pattern without a slash before its end would match folders of that name anywhere.
    return checks.ignore(case, [f"{folder}session.log"], [folder if folder.count("/") > 1 else f"/{folder}"])


def _lock(case: RalphCase) -> Examined:
    where = standing(case.home / "logs")
    if not where.running:
        return passed("no loop is at work")
    return passed(f"a loop is at work: process {where.run.pid if where.run else 'unknown'}")


def _orphans(case: RalphCase) -> Examined:
    return checks.orphans(case, case.home / "logs")


def _end_orphans(case: RalphCase) -> str:
    return checks.end_orphans(case, case.home / "logs")


def _last(case: RalphCase) -> Examined:
    session = last_session(case.home)
    if session is None:
        return passed("none yet")
    seen = f"{case.name_of(session.log)}: {session.ending or 'not ended in order'}"
    if session.ending or standing(case.home / "logs").running:
        return passed(seen)
    return warned(seen, f"tail {case.name_of(session.log)}")


CHECKS: Mapping[str, DoctorCheck[RalphCase]] = {
    **checks.MACHINE,
    "git-repo": DoctorCheck("git repository", _repository),
    "ralph-project": DoctorCheck("the project is ready for a loop", _kind),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "ralph-loop": DoctorCheck("the controller", _controller),
    "config": DoctorCheck("config can be used, and the agent loads", _config, 60),
    "agent-contract": DoctorCheck("the agent meets the contract", _contract, 120),
    "cli-available": DoctorCheck("the agent's CLI is installed", _available, 60),
    "cli-drift": DoctorCheck("the agent's CLI knows the script's options", _options, 90),
    "specs": DoctorCheck("specifications exist", _specs, 60),
    "prompts": DoctorCheck("the prompt templates exist", _prompts),
    "plan": DoctorCheck("the plan has open tasks", _plan),
    "gitignore": DoctorCheck("git ignores the logs", _ignored, 60, _ignore),
    "second-loop": DoctorCheck("no other loop is running", _lock),
    "orphaned-agents": DoctorCheck("no agent runs without its loop", _orphans, fix=_end_orphans),
    "last-session": DoctorCheck("the last session ended in order", _last),
}
"""By their stable ids; those that other setups have, too, are called as there."""
