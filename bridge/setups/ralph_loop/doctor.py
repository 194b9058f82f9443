"""The checks of ``ralph-bridge doctor`` in a ralph-loop setup: its start-up, taken apart.

``config`` and the agent's script are sourced, as at every start; no hook is called.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.setups import lock, standin
from bridge.setups.diagnosis import Answer, Check, NotLookedAt, ask, cli, failed, machine, passed, told, warned
from bridge.setups.ralph_loop import preflight
from bridge.setups.ralph_loop.config import read_config
from bridge.setups.ralph_loop.detect import NAME
from bridge.setups.ralph_loop.overview import last_session
from bridge.setups.ralph_loop.plan import parse, plan_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.setups.model import Setup
    from bridge.setups.ralph_loop.config import Config

__all__ = ["CHECKS", "NAME", "Case"]

_TEMPLATES = ("plan.md", "build.md")


@dataclass(frozen=True, slots=True)
class Case:
    """What the checks get to see.

    Attributes:
        setup: the setup that was found.
        env: the environment that a loop would have.
    """

    setup: Setup
    env: Mapping[str, str]

    @property
    def project(self) -> Path:
        """The working folder."""
        return self.setup.project

    @property
    def home(self) -> Path:
        """Folder of the setup's own files."""
        return self.setup.home

    def name_of(self, path: Path) -> str:
        """`path` as people in the project would write it."""
        real = self.project.resolve()
        return str(path.relative_to(real)) if path.is_relative_to(real) else str(path)

    @contextmanager
    def agent(self) -> Iterator[tuple[Agent, Config]]:
        """The agent that ``config`` names, loaded while the block runs.

        Raises:
            BridgeError: ``config`` or the script is unusable, with the controller's words.
        """
        from bridge.agent import Agent, open_shell

        with open_shell(cwd=self.project, env=dict(self.env), timeout=10) as shell:
            shell.update({"RALPH_DIR": str(self.home), "RALPH_HOME": os.path.relpath(self.home, self.project)})
            config = read_config(shell, self.home / "config", mode="build", iterations="")
            yield Agent.load(preflight.agent_script(self.home, config.agent), shell=shell), config


@contextmanager
def _loaded(case: Case) -> Iterator[tuple[Agent, Config]]:
    try:
        with case.agent() as found:
            yield found
    except BridgeError as error:
        raise NotLookedAt("config or the agent's script can't be used") from error


def _kind(case: Case) -> Answer:
    return passed(f"ralph-loop: {', '.join(case.setup.evidence)}")


def _controller(case: Case) -> Answer:
    if standin.state_of(case.setup.controller) is standin.State.ORIGINAL:
        return passed("the original (`ralph-bridge adopt` stands in for it)")
    return passed("ralph-bridge stands in for it")


def _config(case: Case) -> Answer:
    with case.agent() as (agent, config):
        most = config.max_iterations
        told = f"{config.agent}, at most {most} iterations, {config.max_retries} retries"
        if most < 1:
            return warned(f"{told}: a session does nothing", "set DEFAULT_MAX_ITERATIONS in config")
        return passed(f"{told}: {case.name_of(agent.script)}")


def _contract(case: Case) -> Answer:
    with _loaded(case) as (agent, _):
        script = agent.script
    return cli.contract(script, case.name_of(script))


def _available(case: Case) -> Answer:
    with _loaded(case) as (agent, _):
        if not agent.cli:
            return failed(f"{case.name_of(agent.script)} does not set AGENT_CLI", "let it name its program")
        if agent.shell.call("command", "-v", "--", agent.cli).ok and cli.find(agent.cli, case) is None:
            return passed(f"{agent.cli}, a function of the script")
        return cli.installed(agent.cli, case)


def _options(case: Case) -> Answer:
    with _loaded(case) as (agent, _):
        script, binary = agent.script, agent.cli
    return cli.options(script, case.name_of(script), binary, case)


def _repository(case: Case) -> Answer:
    try:
        preflight.repository(case.project, strict=False)
    except BridgeError as error:
        return told(error, "git init")
    return passed()


def _specs(case: Case) -> Answer:
    with _loaded(case) as (_, config):
        place = config.specs_dir
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
    path = case.home / preflight.PLAN
    if not path.is_file():
        return passed("none yet: the first run plans")
    text = preflight.read(path)
    found = parse(text)
    tasks = found.tasks
    done = sum(task.complete for task in tasks)
    if not tasks:
        return warned(f"{case.name_of(path)} has no `### Task` heading", "ralph-bridge run plan")
    told = f"{done} of {len(tasks)} tasks complete"
    if found.complete:
        return warned(f"{told}: a build ends at once", "ralph-bridge run plan, for what comes next")
    if plan_type(text) == "process":
        told += ", a process plan"
    return passed(told)


def _ignored(case: Case) -> Answer:
    log = case.name_of(case.home / "logs") + "/session.log"
    if shutil.which("git", path=case.env.get("PATH")) is None:
        raise NotLookedAt("git is not on PATH")
    status, _ = ask(["git", "check-ignore", "-q", "--no-index", log], case)
    if status not in (0, 1):
        raise NotLookedAt("there is no git repository")
    folder = os.path.dirname(log) + "/"
    return passed() if status == 0 else warned(f"git does not ignore {folder}", f"echo {folder} >> .gitignore")


def _lock(case: Case) -> Answer:
    pid = lock.holder(case.home / "logs")
    return passed("no loop is at work" if pid is None else f"a loop is at work: process {pid or 'unknown'}")


def _last(case: Case) -> Answer:
    session = last_session(case.home)
    if session is None:
        return passed("none yet")
    told = f"{case.name_of(session.log)}: {session.ending or 'not ended in order'}"
    if session.ending or lock.holder(case.home / "logs") is not None:
        return passed(told)
    return warned(told, f"tail {case.name_of(session.log)}")


CHECKS: Mapping[str, Check[Case]] = {
    "bash-available": Check("bash available", machine.bash),
    "git-repo": Check("git repository", _repository),
    "jq-available": Check("jq available", machine.jq),
    "disk-space": Check("disk space", machine.disk),
    "ralph-project": Check("a project that the loop can run in", _kind),
    "ralph-loop": Check("the controller", _controller),
    "config": Check("config can be used, and the agent loads", _config, 60),
    "agent-contract": Check("the agent is to contract", _contract, 120),
    "cli-available": Check("the agent's CLI is installed", _available, 60),
    "cli-drift": Check("the agent's CLI knows the script's options", _options, 90),
    "specs": Check("there are specifications", _specs, 60),
    "prompts": Check("the prompts' templates are there", _prompts),
    "plan": Check("the plan has open tasks", _plan),
    "gitignore": Check("git ignores the logs", _ignored, 60),
    "second-loop": Check("no second loop", _lock),
    "last-session": Check("the last session ended in order", _last),
}
"""By their stable ids; those that other setups have, too, are called as there."""
