"""A kind of setup in a package of its own: TOY.md is the prompt, TODO.md the plan, toy.conf has two settings."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.files import write_atomic
from bridge.base.git.repository import Files
from bridge.base.json_files import read_number, read_text
from bridge.errors import ConfigurationError
from bridge.loop.engine.events import IterationEnded
from bridge.loop.engine.store import StateFile
from bridge.loop.setups import standin
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, checks, failed, passed
from bridge.loop.setups.plain.handler import PlainFiles
from bridge.loop.setups.plain.opening import run_plain
from bridge.loop.setups.plain.settings import loop_settings
from bridge.loop.setups.script_loading import agent_of
from bridge.loop.setups.setup_kind import Adopted, Installation, Opened, Overview, PlanKind, Rows, Setup, SetupKind
from bridge.loop.turn.agent import AgentTool

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.options import RunOptions
    from bridge.scripts.agent import Agent

CONF, PROMPT, PLAN, STATE, CONTROLLER = "toy.conf", "TOY.md", "TODO.md", ".toy", "toy"
IGNORED = (f"{STATE}/",)
STATE_FILES = (StateFile("turns.txt", (IterationEnded,), lambda facts: f"{facts.event.iteration}\n"),)
FILES = Files(is_own=lambda path: path.startswith(f"{STATE}/"), own=(STATE,))


class Settings(NamedTuple):
    """What stands in toy.conf."""

    agent: str
    turns: int = 20


def read_settings(project: Path) -> Settings:
    """Read them; a ConfigurationError says what is wrong, and where."""
    lines = (line.strip().partition("=") for line in (read_text(project / CONF) or "").splitlines())
    found = {name: value for name, equals, value in lines if equals}
    turns = found.get("TURNS", "20")
    if not found.get("AGENT") or not turns.isdigit():
        expected = "AGENT=PATH, and a number if there is a TURNS=N"
        raise ConfigurationError(f"{project / CONF}: expected {expected}\n  next: ralph-bridge doctor --fix")
    return Settings(found["AGENT"], int(turns))


def detect(folder: Path) -> Setup | None:
    """A folder with both files is one."""
    if missing(folder):
        return None
    return Setup("toy", folder, folder, folder / CONTROLLER, (CONF, PROMPT))


def missing(folder: Path) -> tuple[str, ...]:
    """What isn't there of both."""
    return tuple(f"there is no {name}" for name in (CONF, PROMPT) if not (folder / name).is_file())


def adopt(setup: Setup) -> Adopted:
    """Stand in for its controller."""
    return standin.adopt(setup.controller, "toy")


@dataclass(frozen=True)
class ToyLoop(Opened):
    """A loop that may start."""

    agent: Agent
    loop: LoopSettings

    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it."""
        files = PlainFiles(self.loop.project, folder=STATE, plan=PLAN)
        return run_plain(AgentTool(self.agent, self.loop), self.loop, for_agent=True, files=files, more=STATE_FILES)


@contextmanager
def open_loop(
    project: Path, _setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> Iterator[ToyLoop]:
    """Load the agent; nothing is started."""
    settings = read_settings(project)
    most = settings.turns if options.max_iterations is None else options.max_iterations
    given = replace(options, max_iterations=most, promise="TOY DONE")
    loop = replace(loop_settings(project, given, prompt=options.prompt or PROMPT), files=FILES)
    tell(f"at most {most} turns")
    with agent_of(project, str(project / settings.agent), options.globals, timeout=loop.hook_seconds) as agent:
        yield ToyLoop(agent, loop)


def overview(project: Path, _setup: Setup | None, state: Path, _now: float) -> Overview:
    """What its state file says, and its plan."""
    plan = PlainFiles(project, folder=STATE, plan=PLAN).read_plan()
    done = plan and {"done": plan.done, "total": plan.total}
    return {"running": False, "holder": None, "turns": read_number(state / "turns.txt"), "plan": done}, None


def rows(seen: dict[str, Any], _now: float) -> Rows:
    """The same for people."""
    plan = seen["plan"]
    return [("todo", f"{plan['done']} of {plan['total']} done")] if plan else []


class Case(NamedTuple):
    """What the checks see."""

    project: Path
    env: Mapping[str, str]


def settings_check(case: Case) -> Examined:
    """They can be used."""
    return passed(read_settings(case.project).agent)


def ignored(case: Case) -> Examined:
    """An agent's `git add -A` would commit what isn't."""
    lacks = checks.unignored(case, (f"{STATE}/status.json",))
    return failed(f"git does not ignore {', '.join(lacks)}", f"echo {STATE}/ >> .gitignore") if lacks else passed()


def ignore(case: Case) -> str:
    """Add the rule."""
    path = case.project / ".gitignore"
    write_atomic(path, (read_text(path) or "") + f"{STATE}/\n")
    return f"{STATE}/ is ignored"


CHECKS = {
    "toy-conf": DoctorCheck("the settings can be used", settings_check),
    "gitignore": DoctorCheck("git ignores the loop's state", ignored, 60, ignore),
}
KIND = SetupKind(
    name="toy", title="Toy", page="extending", folders=(STATE,), signs=((CONF, PROMPT),),
    options=frozenset({"prompt"}),
    state=lambda project, _setup: project / STATE, open=open_loop, own_files=lambda _project, _home: FILES,
    overview=overview, rows=rows, checks=lambda project, _setup, env: (Case(project, env), CHECKS),
    plan=PlanKind(files=(PLAN,)), copied=(CONF, PROMPT), own_per_task=(PLAN,),
    installation=Installation(detect, missing, adopt, lambda setup: standin.eject(setup.controller)),
)  # fmt: skip
