"""What `doctor` asks of such a setup: its plan, its prompt, the tool that a run would start, what loops left."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bridge import resources
from bridge.clis import DEFAULT_DRIVER, known_clis
from bridge.errors import BridgeError
from bridge.process import table
from bridge.setups import standin
from bridge.setups.diagnosis import DoctorCheck, Examined, Skipped, checks, failed, passed, warned
from bridge.setups.dot_ralph.folder import locate
from bridge.setups.dot_ralph.state_checks import STATE
from bridge.setups.options import RunOptions
from bridge.setups.plain.settings import IGNORED, SAMPLES
from bridge.setups.prompted.faults import find_faults
from bridge.setups.prompted.files import own_script, shown
from bridge.setups.prompted.script import Script
from bridge.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from bridge.loop.plan import Plan
    from bridge.setups.model import Setup
    from bridge.setups.prompted.job import Job


class LoadedTool(NamedTuple):
    """The driver or agent that a run would start: its title, its script, its CLI, the least version of that."""

    title: str
    script: Path
    program: str
    least: str | None


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
        self.original = own_script(self.setup.controller)
        self.controller = shown(self.setup, str(self.setup.controller))

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
        from bridge.driver import Driver
        from bridge.setups.prompted.opening import open_job

        with _reported("there is no prompt"):
            job = self.job
        with open_job(job, RunOptions(), lambda _text: None) as opened:
            script = opened.script
            if isinstance(script, Driver):
                return LoadedTool(script.display_name(), script.script, script.cli_binary(), script.min_version())
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
    told = f"{case.setup.name}, by {', '.join(case.setup.evidence)}"
    if not case.original.is_file():
        return passed(told)
    adopted = standin.state_of(case.setup.controller) is not standin.StandInState.ORIGINAL
    whose = "ralph-bridge stands in for it" if adopted else "the original (`ralph-bridge adopt` stands in for it)"
    return passed(f"{told}\n{case.controller}: {whose}")


def _plan(case: PromptedCase) -> Examined:
    plan, job = case.plan, None
    if plan is None:
        return passed("there is none")
    with suppress(BridgeError):  # the next check's failure
        job = case.job
    noun, nouns = (job.noun, job.nouns) if job else ("task", "tasks")
    if not plan.total:
        return warned(f"it has no {noun}", f"write one entry for each {noun}")
    if plan.complete and job and job.plan_ends:
        return warned(f"{job.all_done(plan.total)}: a run ends at once", f"add an open {noun}")
    return passed(f"{plan.done} of {plan.total} {nouns} done")


def _prompt(case: PromptedCase) -> Examined:
    job, plan = case.job, case.plan
    over = plan is not None and plan.complete and job.plan_ends  # there may be none for a next turn
    told = [job.shown if over else f"{job.shown}, {plural(len(job.prompt(1)), 'byte')}", *job.notes]
    if job.tool.line:
        told.insert(1, f"{job.tool.program}, as {case.controller}:{job.tool.line} calls it")
    elif case.original.is_file():
        told.insert(1, f"{case.controller} calls no CLI that we know: {job.tool.program}, unless `run` names one")
    return passed("\n".join(told))


def _loads(case: PromptedCase) -> Examined:
    return passed(f"{case.loaded.title}: {resources.shown_script(case.loaded.script)}")


def _contract(case: PromptedCase) -> Examined:
    return checks.contract(case.tool.script, resources.shown_script(case.tool.script))


def _available(case: PromptedCase) -> Examined:
    """The setup runs with any CLI: another that is there is the shortest way."""
    found = checks.installed(case.tool.program, case)
    drivers = [
        cli.driver.name for cli in known_clis().values() if cli.driver and checks.find(cli.programs[0], case)
    ]
    if found.status != "failed" or not drivers:
        return found
    name = DEFAULT_DRIVER if DEFAULT_DRIVER in drivers else drivers[0]
    return found._replace(hint=f"{found.hint}\n          or, with another CLI: ralph-bridge run --driver {name}")


def _options(case: PromptedCase) -> Examined:
    tool = case.tool
    return checks.options(tool.script, resources.shown_script(tool.script), tool.program, case)


def _faults(case: PromptedCase) -> Examined:
    """To inform, not to alarm: none of them is one of a run of ours."""
    if not case.original.is_file():
        return passed("there is no script")
    name = shown(case.setup, str(case.original))
    found = find_faults(Script(case.original, case.project))
    return passed(
        "\n".join(f"{name}:{each.line}: {each.what}; here {each.change}" for each in found) or "none found"
    )


def _second_loop(case: PromptedCase) -> Examined:
    name = case.setup.controller.name
    if others := table.running_in(case.project, name):
        pids = " ".join(map(str, others))
        return failed(f"the original {name} is running here: process {pids}", f"end it: kill {pids}")
    return STATE["second-loop"].run(case)  # type: ignore[arg-type]


CHECKS: Mapping[str, DoctorCheck[Any]] = {
    **checks.MACHINE,
    "git-repo": DoctorCheck("git repository with commits", checks.optional_git("some CLIs refuse"), 60),
    "ralph-project": DoctorCheck("the project is ready for a loop", _setup),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "plan": DoctorCheck("the plan has open tasks", _plan),
    "prompt": DoctorCheck("the prompt can be read", _prompt, 60),
    "known-faults": DoctorCheck("known faults of the original script are none of ours", _faults),
    "driver": DoctorCheck("the driver or agent loads", _loads, 60),
    "driver-contract": DoctorCheck("it meets the contract", _contract, 120),
    "cli-available": DoctorCheck("the agent's CLI is installed", _available, 60),
    "cli-version": DoctorCheck(
        "the agent's CLI is new enough",
        lambda case: checks.new_enough(case.tool.program, case.tool.least, case),
        60,
    ),
    "cli-drift": DoctorCheck("the agent's CLI knows the options", _options, 90),
    "gitignore": DoctorCheck(
        "git ignores the loop's state",
        lambda case: checks.ignored(case, SAMPLES, IGNORED),
        60,
        lambda case: checks.ignore(case, SAMPLES, IGNORED),
    ),
    **{name: STATE[name] for name in ("status-file", "loop-lock", "orphaned-agents")},
    "second-loop": DoctorCheck("no other loop is running", _second_loop),
}
"""By stable ids, as all tables of checks."""
