"""What is asked of a loop, by the command line or by a program, and what each kind of setup makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bridge.loop.caps import Caps
from bridge.resources import as_given, os_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bridge.setups.dot_ralph.opening import WantedRun
    from bridge.setups.frankbria.opening import FrankbriaRun
    from bridge.setups.plain.settings import PlainSettings
    from bridge.setups.ralph_loop.settings import RalphOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is asked of a loop; not every kind has all of it.

    Attributes:
        driver, agent: name or path of the script; None: as the project says.
        prompt: prompt file, seen from the project; None: the usual one.
        words: of a controller's command line.
        task: what is to be done, in words.
        max_iterations: then it ends; None: as the setup has it.
        max_minutes: then it ends, with the turn that is under way; None: never.
        caps: what the run may use; the project fills in what isn't set.
        calls: turns per clock hour, as text; None: as the project says.
        max_failures: failed turns in a row at which it ends; 0: never; None: as the project says.
        max_idle: turns in a row that change nothing at which it ends; 0: never; None: as the environment says.
        timeout: minutes that one turn may take; None: as the setup has it.
        retry_delay: seconds after a failed turn; None: as the setup has it.
        promise: a completion promise, or None.
        allowed_tools: tools that the agent may use; None: as the project says.
        live: show output while it comes.
        resume: resume the session of the turn before.
        settings: globals for the script.
    """

    driver: str | None = None
    agent: str | None = None
    prompt: str | None = None
    words: Sequence[str] = ()
    task: str | None = None
    max_iterations: int | None = None
    max_minutes: float | None = None
    caps: Caps = field(default_factory=Caps)
    calls: str | None = None
    max_failures: int | None = None
    max_idle: int | None = None
    timeout: float | None = None
    retry_delay: float | None = None
    promise: str | None = None
    allowed_tools: str | None = None
    live: bool = True
    resume: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def max_seconds(self) -> float | None:
        """Seconds after which it ends."""
        return None if self.max_minutes is None else self.max_minutes * 60

    @property
    def turn_seconds(self) -> float | None:
        """Seconds that one turn may take."""
        return None if self.timeout is None else self.timeout * 60

    @property
    def globals(self) -> dict[str, str]:
        """Globals for the script, as the shell side has text."""
        return {name: os_text(value) for name, value in self.settings.items()}

    def script(self, name: Literal["driver", "agent"]) -> str | None:
        """Return the driver or the agent that is asked for, a path so that it leads there from anywhere."""
        given: str | None = getattr(self, name)
        return None if given is None else as_given(given, name)


def plain_settings(folder: Path, asked: RunOptions) -> PlainSettings:
    """Give what a loop without a setup runs with.

    Raises:
        ConfigurationError: there is no prompt.
    """
    from bridge.setups.plain.settings import AGENT_PROMISE, TURN_MINUTES, PlainSettings
    from bridge.setups.projects import find_prompt

    return PlainSettings(
        prompt=os_text(find_prompt(folder, asked.prompt)),
        max_iterations=50 if asked.max_iterations is None else asked.max_iterations,
        max_seconds=asked.max_seconds,
        caps=asked.caps,
        max_failures=asked.max_failures or 0,
        max_idle=asked.max_idle,
        timeout=TURN_MINUTES * 60 if asked.turn_seconds is None else asked.turn_seconds,
        retry_seconds=asked.retry_delay,
        live=asked.live,
        promise=asked.promise or (AGENT_PROMISE if asked.agent else None),
        resume=asked.resume,
    )


def bmalph_run(asked: RunOptions) -> WantedRun:
    """Give what a bmalph loop is asked for."""
    from bridge.setups.dot_ralph.opening import WantedRun

    return WantedRun(**_in_folder(asked, driver=asked.script("driver"), timeout=asked.timeout))


def frankbria_run(asked: RunOptions) -> FrankbriaRun:
    """Give what a frankbria loop is asked for; its driver is no setting, its timeout one of whole minutes."""
    from bridge.setups.frankbria.opening import FrankbriaRun

    return FrankbriaRun(**_in_folder(asked), driver=asked.script("driver"))


def _in_folder(asked: RunOptions, **more: Any) -> dict[str, Any]:
    """What both loops are asked whose files lie in ``.ralph``; `more` are further settings."""
    from bridge.setups.dot_ralph.opening import options_of

    return {
        "options": options_of(
            prompt=asked.prompt,
            calls=asked.calls,
            retry_delay=asked.retry_delay,
            max_failures=asked.max_failures,
            resume=asked.resume,
            allowed_tools=asked.allowed_tools,
            **more,
        ),
        "extra": asked.globals,
        "live": asked.live,
        "max_iterations": asked.max_iterations,
        "max_seconds": asked.max_seconds,
        "caps": asked.caps,
        "timeout": asked.turn_seconds,
        "promise": asked.promise,
    }


def ralph_options(asked: RunOptions, *, strict: bool = False, lift: bool = True) -> RalphOptions:
    """Give what a ralph-loop setup is asked beside its controller's own words."""
    from bridge.setups.ralph_loop.settings import RalphOptions

    agent = asked.script("agent")
    return RalphOptions(
        agent=agent and os_text(agent),
        settings=asked.globals,
        strict=strict,
        lift=lift,
        max_seconds=asked.max_seconds,
        caps=asked.caps,
        turn_seconds=asked.turn_seconds,
        retry_delay=asked.retry_delay,
        max_idle=asked.max_idle,
    )
