"""What is asked of a loop, by the command line or by a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bridge.loop.caps import Caps
from bridge.resources import as_given, os_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
