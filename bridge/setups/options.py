"""What a loop may be asked, by the command line or by a program: each option once, and the values of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bridge.errors import ConfigurationError
from bridge.loop.caps import VARIABLES, Caps
from bridge.resources import as_given, os_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.setups.model import Setup, SetupKind
    from bridge.setups.settings import GivenOption


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of ``run``, of :meth:`bridge.loops.Loop.open`, or of both.

    Attributes:
        name: of the field in :class:`RunOptions`, or in :class:`bridge.loop.caps.Caps`.
        type: as the annotations of Python callers have it, without ``| None``.
        flag: what it is called on the command line; '': it is for programs.
        metavar: its value in ``--help``. help: its line there.
        least: the least number. above: it has to be more than that. None: there is no such bound.
        unit: of the number, for people.
        optional: None is as if it were not given.
        python: `Loop.open` has it.
        as_text: on the command line it is any text, which is checked with the settings of the kind.
        completes: what a shell completes it with, a word of ``bridge.cli._help.completes``; '': nothing.
        elsewhere: what does the same in kinds that don't have it.
    """

    name: str
    type: str
    flag: str = ""
    metavar: str | None = None
    help: str = ""
    least: float | None = None
    above: float | None = None
    unit: str = ""
    optional: bool = True
    python: bool = True
    as_text: bool = False
    completes: str = ""
    elsewhere: str = ""

    @property
    def annotation(self) -> str:
        return f"{self.type} | None" if self.optional else self.type

    def check(self, value: Any) -> None:
        if value is None:
            return
        if self.least is not None and not value >= self.least:
            raise ConfigurationError(f"{self.name} is {value!r}, expected a number from {self.least:g}")
        if self.above is not None and not value > self.above:
            unit = f" of {self.unit}" if self.unit else ""
            raise ConfigurationError(f"{self.name} is {value!r}, expected a number{unit} above {self.above:g}")


def _option(
    name: str, type_: str, flag: str = "", metavar: str | None = None, text: str = "", **more: Any
) -> Option:
    return Option(name=name, type=type_, flag=flag, metavar=metavar, help=text, **more)


_PATH = "str | os.PathLike[str]"

OPTIONS: Mapping[str, Option] = {each.name: each for each in (
    _option("driver", _PATH, "--driver", "NAME|PATH", "The driver to use, by path or name.  [default: claude-code]",
            completes="DRIVER"),
    _option("prompt", _PATH, "--prompt", "FILE", "The prompt file.  [default: .ralph/PROMPT.md, else PROMPT.md]",
            completes="FILE"),
    _option("max_iterations", "int", "--max-iterations", "N",
            "Stop after this many iterations.  [default: 50; no limit in a bmalph setup]", least=1),
    _option("max_minutes", "float", "--max-minutes", "MINUTES",
            "Stop after this many minutes, and end the turn that is under way.", above=0, unit="minutes"),
    _option("max_cost", "float", "--max-cost", "USD", "Start no turn when this much is spent.", above=0),
    _option("max_tokens", "float", "--max-tokens", "N", "Start no turn when so many tokens are used.", above=0),
    _option("tokens_per_hour", "float", "--tokens-per-hour", "N",
            "Wait for the next clock hour after so many tokens.", above=0),
    _option("price_in", "float", "--price-in", "USD",
            "Price of a million tokens in, for a CLI that tells no cost.", least=0),
    _option("price_out", "float", "--price-out", "USD", "Price of a million tokens out, likewise.", least=0),
    _option("calls", "int", "--calls", "N", "Limit successful turns per clock hour (bmalph setup).",
            least=1, as_text=True),
    _option("live", "bool", "--live/--no-live", None, "Show output as it comes.  [default: where supported]",
            optional=False),
    _option("promise", "str", "--completion-promise", "TEXT", "Also stop when the assistant promises TEXT."),
    _option("timeout", "float", "--timeout", "MINUTES", "Time limit for each turn.", above=0, unit="minutes"),
    _option("retry_delay", "float", "--retry-delay", "SECONDS",
            "Pause after a failed turn; doubled after each further one.  [default: 5; 30 in a bmalph setup]",
            least=0),
    _option("max_failures", "int", "--max-failures", "N",
            "Stop after this many failed turns in a row; 0: never.", least=0),
    _option("max_idle", "int", "--max-idle", "N",
            "Stop after this many turns in a row that changed nothing; 0: never.  [default: 5; not where a"
            " circuit breaker does that]", least=0, elsewhere="a circuit breaker does that"),
    _option("resume", "bool", "--no-continue", None, "Start a new session in every iteration.", optional=False),
    _option("allowed_tools", "str", "--allowed-tools", "LIST",
            'The tools that the agent may use, such as "Read, Bash(make *)".'),
    _option("agent", _PATH, "--agent", "NAME|PATH",
            "The agent to use instead of a driver, by path or name.  [default in a ralph-loop setup: its AGENT]",
            completes="AGENT"),
    _option("words", "Sequence[str]", optional=False),
    _option("task", "str"),
    _option("process", "bool", "--process", None, "With plan: plan from the process specifications.", python=False),
    _option("strict", "bool", "--strict-compat", None, "Keep the visible quirks of the original controller.",
            python=False),
    _option("lift", "bool", "--no-lift", None, "Let bash run every filter of the agent.", python=False),
    _option("dry_run", "bool", "--dry-run", None, "Print the command (or the prompt) that would be run, and stop.",
            python=False),
    _option("settings", "Mapping[str, str]", optional=False),
)}  # fmt: skip
"""Every option by its name, in the order of ``--help``."""


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
        process: plan from the process specifications.
        strict: with the visible quirks of the original controller.
        lift: run filters that start a jq for every line in one jq.
        dry_run: it is opened to show what would run.
        settings: globals for the script.
        given: settings that a controller's own options have named, by field.
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
    process: bool = False
    strict: bool = False
    lift: bool = True
    dry_run: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, GivenOption] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> RunOptions:
        caps = Caps(**{name: values.get(name) for name in VARIABLES})
        return cls(caps=caps, **{name: value for name, value in values.items() if name not in VARIABLES})

    @property
    def max_seconds(self) -> float | None:
        return None if self.max_minutes is None else self.max_minutes * 60

    @property
    def turn_seconds(self) -> float | None:
        return None if self.timeout is None else self.timeout * 60

    @property
    def globals(self) -> dict[str, str]:
        """Globals for the script, as the shell side has text."""
        return {name: os_text(value) for name, value in self.settings.items()}

    def script(self, name: Literal["driver", "agent"]) -> str | None:
        """Return the driver or the agent that is asked for, a path so that it leads there from anywhere."""
        given: str | None = getattr(self, name)
        return None if given is None else os_text(as_given(given, name))


def check(kind: SetupKind, options: RunOptions, *, setup: Setup | None = None, by_flag: bool = False) -> None:
    """Refuse what doesn't apply to a kind, and name the kinds that have it; `by_flag` as the command line does."""
    from bridge.setups import kinds

    nothing = RunOptions()
    special = {name for each in kinds().values() for name in each.options}
    for name, option in OPTIONS.items():
        if name not in special - kind.options or getattr(options, name) == getattr(nothing, name):
            continue
        homes = ", ".join(each.name for each in kinds().values() if name in each.options)
        homes += f"; elsewhere {option.elsewhere}" if option.elsewhere else ""
        shown = option.flag.partition("/")[0] if by_flag and option.flag else name
        what = f"{kind.name} {'setup' if by_flag else 'loop'}"
        what += f" (told by {', '.join(setup.evidence)})" if setup is not None else ""
        raise ConfigurationError(f"{shown} does not apply to a {what}\n  next: leave it out; it is for {homes}")
    if options.driver is not None and options.agent is not None:
        mark = "--" if by_flag else ""
        raise ConfigurationError(f"{mark}driver and {mark}agent exclude each other\n  next: give one of them")
