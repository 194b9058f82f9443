"""What `doctor` asks of such a setup: its plan, its prompt, the tool that a run would start, what loops left."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bridge.base import resources
from bridge.base.clis import DEFAULT_DRIVER, known_clis
from bridge.base.records import dataclass
from bridge.base.wording import plural
from bridge.errors import BridgeError
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, Skipped, checks, passed, warned
from bridge.loop.setups.dot_ralph.folder import locate
from bridge.loop.setups.dot_ralph.state_checks import STATE, second_loop
from bridge.loop.setups.options import RunOptions
from bridge.loop.setups.plain.doctor import GITIGNORE
from bridge.loop.setups.script import doctor as script
from bridge.loop.setups.script.doctor import ScriptCase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.prompted.job import Job
    from bridge.loop.setups.setup_kind import Setup


class LoadedTool(NamedTuple):
    """The driver or agent that a run would start: its title, its script, its CLI, the least version of that.

    available: whether the driver says that it can be used; None where it doesn't.
    """

    title: str
    script: Path
    program: str
    least: str | None
    available: bool | None = None


@dataclass
class PromptedCase:
    """What the checks get to see. `job_of` and `read_plan`: `job` and `read_plan` of the kind's module."""

    setup: Setup
    env: Mapping[str, str]
    job_of: Callable[[Setup, RunOptions], Job]
    read_plan: Callable[[Setup], Plan | None]

    def __post_init__(self) -> None:
        self.project = self.setup.project
        self.folder = locate(self.project)

    @cached_property
    def plan(self) -> Plan | None:
        return self.read_plan(self.setup)

    @cached_property
    def job(self) -> Job:
        with _reported("the plan can't be read"):
            self.plan  # noqa: B018 (read for its errors)
        return self.job_of(self.setup, RunOptions(max_iterations=1))  # some kinds have no number by default

    @cached_property
    def loaded(self) -> LoadedTool:
        """As `run` would load it."""
        from bridge.loop.setups.prompted.opening import open_job
        from bridge.scripts.driver import Driver

        with _reported("there is no prompt"):
            job = self.job
        with open_job(job, RunOptions(), lambda _text: None) as opened:
            script = opened.script
            if isinstance(script, Driver):
                return LoadedTool(
                    script.display_name(),
                    script.script,
                    script.cli_binary(),
                    script.min_version(),
                    script.check_available(),
                )
            return LoadedTool(script.script.stem, script.script, script.cli, None)

    @property
    def tool(self) -> LoadedTool:
        """The same, for other checks than the one that says why there is none."""
        with _reported("neither a driver nor an agent loads"):
            return self.loaded


@contextmanager
def _reported(why: str) -> Iterator[None]:
    """What goes wrong is another check's failure."""
    try:
        yield
    except BridgeError as error:
        raise Skipped(why) from error


def _setup(case: PromptedCase) -> Examined:
    return passed(f"{case.setup.name}, by {', '.join(case.setup.evidence)}")


def _plan(case: PromptedCase) -> Examined:
    plan, job = case.plan, None
    if plan is None:
        return passed("there is none")
    with suppress(BridgeError):  # the next check's failure
        job = case.job
    noun, nouns = (job.noun, job.nouns) if job else ("task", "tasks")
    if plan.total and plan.complete and job and job.plan_ends:
        return warned(f"{job.all_done(plan.total)}: a run ends at once", f"add an open {noun}")
    return _counted(plan, noun, nouns)


def _counted(plan: Plan | None, noun: str, nouns: str) -> Examined:
    if plan is None:
        return passed("there is none")
    if not plan.total:
        return warned(f"it has no {noun}", f"write one entry for each {noun}")
    return passed(f"{plan.done} of {plan.total} {nouns} done")


def _prompt(case: PromptedCase) -> Examined:
    job, plan = case.job, case.plan
    over = plan is not None and plan.complete and job.plan_ends  # there may be none for a next turn
    told = [job.shown if over else f"{job.shown}, {plural(len(job.prompt(1)), 'byte')}", *job.notes]
    return passed("\n".join(told))


def _loads(case: PromptedCase) -> Examined:
    return passed(f"{case.loaded.title}: {resources.shown_script(case.loaded.script)}")


def _contract(case: PromptedCase) -> Examined:
    return checks.contract(case.tool.script, resources.shown_script(case.tool.script))


def _available(case: PromptedCase) -> Examined:
    """The setup runs with any CLI: another that is there is the shortest way."""
    tool = case.tool
    found = checks.installed(tool.program, case)
    found = checks.refused(found, tool.available, resources.shown_script(tool.script))
    if found.status != "failed":
        return found
    drivers = []
    for cli in known_clis().values():
        with suppress(Skipped):  # a program of the project's is nothing to go on with
            if cli.driver and checks.find(cli.programs[0], case):
                drivers.append(cli.driver.name)
    if not drivers:
        return found
    name = DEFAULT_DRIVER if DEFAULT_DRIVER in drivers else drivers[0]
    return found._replace(hint=f"{found.hint}\n          or, with another CLI: ralph-bridge run --driver {name}")


def _options(case: PromptedCase) -> Examined:
    tool = case.tool
    return checks.options(tool.script, resources.shown_script(tool.script), tool.program, case)


def _second_loop(case: PromptedCase) -> Examined:
    return second_loop(case, [case.setup.controller.name])


CHECKS: Mapping[str, DoctorCheck[Any]] = {
    **checks.MACHINE,
    "git-repo": DoctorCheck("git repository with commits", checks.optional_git("some CLIs refuse"), 60),
    "ralph-project": DoctorCheck("the project is ready for a loop", _setup),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "plan": DoctorCheck("the plan has open tasks", _plan),
    "prompt": DoctorCheck("the prompt can be read", _prompt, 60),
    "driver": DoctorCheck("the driver or agent loads", _loads, 60),
    "driver-contract": DoctorCheck("it meets the contract", _contract, 120),
    "cli-available": DoctorCheck("the agent's CLI is installed", _available, 60),
    "cli-version": DoctorCheck(
        "the agent's CLI is new enough",
        lambda case: checks.new_enough(case.tool.program, case.tool.least, case),
        60,
    ),
    "cli-drift": DoctorCheck("the agent's CLI knows the options", _options, 90),
    "gitignore": GITIGNORE,
    **{name: STATE[name] for name in ("status-file", "loop-lock", "orphaned-agents")},
    "second-loop": DoctorCheck("no other loop is running", _second_loop),
}
"""By stable ids, as all tables of checks."""


class ScriptedCase(ScriptCase):
    """The same where the setup's own script is what runs; `ready` raises for what is looked for before that."""

    def __init__(
        self,
        setup: Setup,
        env: Mapping[str, str],
        read_plan: Callable[[Setup], Plan | None],
        ready: Callable[[Callable[[str], None]], object],
        nouns: tuple[str, str],
    ) -> None:
        super().__init__(setup, env)
        self.ready, self.nouns = ready, nouns
        self.read_plan = read_plan


def _scripts_plan(case: ScriptedCase) -> Examined:
    return _counted(case.read_plan(case.setup), *case.nouns)


def _ready(case: ScriptedCase) -> Examined:
    told: list[str] = []
    case.ready(told.append)
    return passed("\n".join(told))


SCRIPTED_CHECKS: Mapping[str, DoctorCheck[Any]] = {
    **script.CHECKS,
    "plan": replace(CHECKS["plan"], run=_scripts_plan),
    "prompt": DoctorCheck("what the script needs is there", _ready),
}
