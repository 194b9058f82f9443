"""What a loop may be asked, by the command line or by a program: each option once, and the values of one run."""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from bridge.base.options import UNITS, in_units
from bridge.base.records import dataclass
from bridge.base.resources import as_given, os_text
from bridge.errors import ConfigurationError
from bridge.loop.engine.caps import VARIABLES, Caps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.base.process.program import Graces
    from bridge.loop.setups.declared_settings import GivenOption


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of ``run``, of :meth:`bridge.loop.loops.Loop.open`, or of both.

    Attributes:
        name: of the field in :class:`RunOptions`, or in :class:`bridge.loop.engine.caps.Caps`.
        type: as the annotations of Python callers have it, without ``| None``.
        flag: what it is called on the command line; '': it is for programs.
        metavar: its value in ``--help``. help: its line there.
        least: the least number. above: it has to be more than that. None: there is no such bound.
        unit: of the number; with one of `bridge.base.options.UNITS` a Python caller may give a timedelta.
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
    def line(self) -> str:
        """Its line in the help of a controller, without the end."""
        return self.help[:1].lower() + self.help[1:].removesuffix(".")

    @property
    def annotation(self) -> str:
        kind = f"{self.type} | timedelta" if self.unit in UNITS else self.type
        return f"{kind} | None" if self.optional else kind

    def number(self, value: Any) -> Any:
        """Give a duration in the unit of the option, any other value as it is."""
        return in_units(value, self.unit) if self.unit in UNITS else value

    def check(self, value: Any) -> None:
        given, value = value, self.number(value)
        if value is None:
            return
        unit = f" of {self.unit}" if self.unit else ""
        if self.least is not None and not value >= self.least:
            raise ConfigurationError(f"{self.name} is {given!r}, expected a number{unit} from {self.least:g}")
        if self.above is not None and not value > self.above:
            raise ConfigurationError(f"{self.name} is {given!r}, expected a number{unit} above {self.above:g}")


def _option(default: Any, flag: str = "", metavar: str | None = None, text: str = "", **more: Any) -> Any:
    """Declare an option as a field; its type for Python callers is the field's, unless `type` says another."""
    return field(default=default, metadata={"type": "", "flag": flag, "metavar": metavar, "help": text, **more})


_PATH = "str | os.PathLike[str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is asked of a loop, in the order of ``--help``; not every kind has all of it.

    None stands for what the project, its kind or the environment says.
    """

    # fmt: off
    driver: str | None = _option(
        None, "--driver", "NAME|PATH",
        "The driver to use, by path or name.  [default: that of the CLI in the setup's script; else claude-code]",
        type=_PATH, completes="DRIVER")
    prompt: str | None = _option(
        None, "--prompt", "FILE",
        "The prompt file.  [default: the setup's own; else .ralph/PROMPT.md or PROMPT.md]",
        type=_PATH, completes="FILE")
    max_iterations: int | None = _option(
        None, "--max-iterations", "N",
        "Stop after this many iterations.  [default: the setup's own; else 50, no limit in a bmalph setup]",
        least=1)
    max_minutes: float | None = _option(
        None, "--max-minutes", "MINUTES", "Stop after this many minutes, and end the turn that is under way.",
        above=0, unit="minutes")
    caps: Caps = field(default_factory=Caps)
    calls: str | None = _option(  # any text on the command line: it is checked with the project's settings
        None, "--calls", "N", "Limit successful turns per clock hour (bmalph setup).",
        type="int", least=1, as_text=True)
    live: bool = _option(True, "--live/--no-live", None, "Show output as it comes.  [default: where supported]")
    promise: str | None = _option(
        None, "--completion-promise", "TEXT", "Also stop when the assistant promises TEXT.")
    timeout: float | None = _option(
        None, "--timeout", "MINUTES", "Time limit for each turn.", above=0, unit="minutes")
    exit_grace: float | None = _option(
        None, "--exit-grace", "SECONDS",
        "How long the CLI may stay once it has answered, before it is ended; 0: any time.  [default: 5]", least=0,
        unit="seconds")
    max_silence: float | None = _option(
        None, "--max-silence", "MINUTES", "End a turn that prints nothing for so long.", above=0, unit="minutes")
    max_context: str | None = _option(
        None, "--max-context", "PERCENT|TOKENS",
        "Begin a fresh session when the context of the one that is carried on is so full, such as 80% or 120k.",
        elsewhere="each turn begins a fresh session")
    retry_delay: float | None = _option(
        None, "--retry-delay", "SECONDS",
        "Pause after a failed turn; doubled after each further one.  [default: 5; 30 in a bmalph setup]", least=0,
        unit="seconds")
    max_failures: int | None = _option(
        None, "--max-failures", "N", "Stop after this many failed turns in a row; 0: never.", least=0)
    max_idle: int | None = _option(
        None, "--max-idle", "N",
        "Stop after this many turns in a row that changed nothing; 0: never.  [default: 5; never for"
        " a script, nor where a circuit breaker does that]", least=0, elsewhere="a circuit breaker does that")
    resume: bool | None = _option(
        None, "--continue/--no-continue", None,
        "Go on in the session of the turn before, or start a new one in each turn.  [default: the setup's own; a"
        " new one in a folder with a prompt alone]")
    allowed_tools: str | None = _option(
        None, "--allowed-tools", "LIST", 'The tools that the agent may use, such as "Read, Bash(make *)".')
    script: str | None = _option(
        None, "--script", "PATH",
        "Run this script as it is, each of its calls of a coding CLI as a turn; words behind -- are its arguments.",
        type=_PATH, completes="FILE")
    agent: str | None = _option(
        None, "--agent", "NAME|PATH",
        "The agent to use instead of a driver, by path or name.  [default in a ralph-loop setup: its AGENT]",
        type=_PATH, completes="AGENT")
    mode: str | None = _option(
        None, "--mode", "NAME", "What the turns are for, where a setup has a prompt for each: build, plan.")
    tasks: str | None = _option(
        None, "--tasks", "FILE", "The list of tasks: Markdown boxes, YAML or JSON (ralphy setup).",
        type=_PATH, completes="FILE")
    push: bool = _option(
        True, "--no-push", None, "Have what the project's script pushes stay here: its `git push` does nothing.")
    words: Sequence[str] = _option(())  # of a controller's command line
    task: str | None = _option(None)  # what is to be done, in words
    prints: bool = False  # a script's output is that of this process
    process: bool = _option(
        False, "--process", None, "With plan: plan from the process specifications.", python=False)
    strict: bool = _option(
        False, "--strict-compat", None, "Keep the visible quirks of the original controller.", python=False)
    lift: bool = _option(True, "--no-lift", None, "Let bash run every filter of the agent.", python=False)
    dry_run: bool = _option(
        False, "--dry-run", None, "Print the command (or the prompt) that would be run, and stop.", python=False)
    sandbox: str | None = _option(
        None, "--sandbox", "NAME", "Where turns run: bwrap, docker, podman, srt; none: on this machine as it is.")
    sandbox_write: Sequence[str] = _option((), "--sandbox-write", "DIR", "A folder that the box may write to, too.")
    sandbox_env: Sequence[str] = _option((), "--sandbox-env", "NAME", "A variable that the box gets, too.")
    sandbox_network: str | None = _option(
        None, "--sandbox-network", "on|off|HOSTS", "Whether the box reaches the network.  [default: on]")
    sandbox_image: str | None = _option(
        None, "--sandbox-image", "NAME", "A container's image, the CLI in it.  [default: this machine's programs]")
    model: str | None = _option(
        None, "--model", "NAME[:EFFORT]", "The model that the driver's CLI is to use, such as opus or gpt-5:high.")
    fallback: str | None = _option(
        None, "--fallback", "TOOL[,TOOL]",
        "Tools for the turns while those before them are at a limit, such as driver:codex.")
    escalate: str | None = _option(
        None, "--escalate", "N:TOOL", "A tool for a task that N turns have not done, or after N failures in a row.")
    check: str | None = _option(
        None, "--check", "COMMAND", "Has to succeed before the loop is complete, such as 'make test'.")
    check_every_turn: bool = _option(
        False, "--check-every-turn", None, "Run the check behind each turn, and tell the next one.")
    check_minutes: float | None = _option(
        None, "--check-minutes", "MINUTES", "That the check may take.  [default: 10]", above=0, unit="minutes")
    telemetry: str | None = _option(
        None, "--telemetry", "otlp|none",
        "Send a trace and metrics of the run, as OTEL_EXPORTER_OTLP_* say.  [default: $OTEL_TRACES_EXPORTER]")
    telemetry_content: bool = _option(
        False, "--telemetry-content", None, "Send prompts, answers and what tools are called with, too.")
    review: str | None = _option(
        None, "--review", "TOOL",
        "Another tool that reviews the work before the loop is complete, such as driver:codex.")
    review_every: int | None = _option(
        None, "--review-every", "N", "Review behind every N iterations, too.", least=1)
    review_rounds: int | None = _option(
        None, "--review-rounds", "N", "Reviews in a row that may hold up the end.  [default: 3]", least=1)
    settings: Mapping[str, str] = field(default_factory=dict, metadata={"type": ""})  # globals for the script
    given: Mapping[str, GivenOption] = field(default_factory=dict)  # settings that a controller's options name
    # fmt: on

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
    def silence_seconds(self) -> float | None:
        return None if self.max_silence is None else self.max_silence * 60

    def graces(self, given: Graces) -> Graces:
        return given if self.exit_grace is None else replace(given, answered=self.exit_grace)

    @property
    def globals(self) -> dict[str, str]:
        """Globals for the script, as the shell side has text."""
        return {name: os_text(value) for name, value in self.settings.items()}

    def named(self, name: Literal["driver", "agent"]) -> str | None:
        """Return the driver or the agent that is asked for, a path so that it leads there from anywhere."""
        given: str | None = getattr(self, name)
        return None if given is None else os_text(as_given(given, name))


_CAPS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "max_cost": ("USD", "Start no turn when this much is spent.", {"above": 0}),
    "max_tokens": ("N", "Start no turn when so many tokens are used.", {"above": 0}),
    "tokens_per_hour": ("N", "Wait for the next clock hour after so many tokens.", {"above": 0}),
    "price_in": ("USD", "Price of a million tokens in, for a CLI that tells no cost.", {"least": 0}),
    "price_out": ("USD", "Price of a million tokens out, likewise.", {"least": 0}),
}


def _options() -> Iterator[Option]:
    for each in fields(RunOptions):
        if each.name == "caps":
            for name, (metavar, text, bound) in _CAPS.items():
                flag = f"--{name.replace('_', '-')}"
                yield Option(name=name, type="float", flag=flag, metavar=metavar, help=text, **bound)
        elif "type" in each.metadata:
            declared = str(each.type)
            more = {**each.metadata, "type": each.metadata["type"] or declared.removesuffix(" | None")}
            yield Option(name=each.name, optional=declared.endswith(" | None"), **more)


OPTIONS: Mapping[str, Option] = {each.name: each for each in _options()}
"""Every option by its name, in the order of ``--help``."""
