"""A loop inside the test's own process: real driver, real agent, real git, real files; only the time is made up."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bridge.base.process.program import Graces
from bridge.loop.engine.active_run import ActiveRun
from bridge.loop.engine.events import IterationEnded, LoopEnded, LoopEvent, Notice, Waiting
from bridge.loop.engine.runner import run_loop
from bridge.loop.setups.bmalph.handler import BmalphHandler
from bridge.loop.setups.bmalph.opening import loop_policy, loop_settings, ready
from bridge.loop.setups.bmalph.policy import BmalphState
from bridge.loop.setups.dot_ralph.folder import locate
from bridge.loop.setups.options import RunOptions
from bridge.loop.turn.driver import DriverTool
from bridge.scripts.driver import Driver

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project

GRACES = Graces()
START = datetime(2026, 1, 2, 8, 8, 9).astimezone()


@dataclass
class Time:
    """A clock that stands still, except when somebody waits."""

    moment: datetime = START
    waits: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return self.moment.timestamp()

    def monotonic(self) -> float:
        return self.moment.timestamp()

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.moment += timedelta(seconds=seconds)

    @property
    def waited(self) -> float:
        return sum(self.waits)


@dataclass
class Loop:
    """What a loop came to."""

    events: list[LoopEvent]
    time: Time

    @property
    def end(self) -> LoopEnded:
        last = self.events[-1]
        assert isinstance(last, LoopEnded)
        return last

    @property
    def reason(self) -> str:
        return self.end.reason

    @property
    def iterations(self) -> list[IterationEnded]:
        return [event for event in self.events if isinstance(event, IterationEnded)]

    @property
    def waits(self) -> list[tuple[str, float]]:
        found = [(event.reason, event.left) for event in self.events if isinstance(event, Waiting) and event.first]
        return [(reason, round(left)) for reason, left in found]

    @property
    def notices(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Notice))


def run(
    project: Project,
    driver: str = "codex",
    *,
    live: bool = False,
    max_iterations: int | None = 5,
    max_seconds: float | None = None,
    timeout: float | None = None,
    time: Time | None = None,
    graces: Graces = GRACES,
    **env: str,
) -> Loop:
    """Run a loop to its end; `env` has settings."""
    clock = time or Time()
    full = project.environment(PLATFORM_DRIVER=driver, **env)
    folder = locate(project.path, full)
    settings = ready(folder, env=full)
    wanted = RunOptions(
        live=live, max_iterations=max_iterations, max_minutes=None if max_seconds is None else max_seconds / 60
    )
    options = loop_settings(folder, settings, wanted, env=full)
    # Patience is for real agents; scripted ones obey at once, or are meant not to.
    options = replace(options, heartbeat_seconds=0.05, timeout=timeout or options.timeout, graces=graces)
    store = BmalphHandler(folder, settings, options, driver=driver, now=clock.seconds)
    active = ActiveRun(folder.path, folder.project, command=["test"], tool=f"driver {driver}", now=clock.seconds)
    with (
        Driver.load(
            driver, folders=[folder / "drivers"], cwd=project.path, env=full, settings=settings.shell_globals()
        ) as script,
        closing(
            run_loop(
                DriverTool(script, options, f"driver {driver}"),
                loop_policy(settings, options),
                store,
                options,
                active=active,
                state=BmalphState(),
                clock=clock,
            )
        ) as events,
    ):
        return Loop(list(events), clock)
