"""The options of ``ralph_loop.sh``, as its stand-in takes them. Pure: arguments in, a plan out.

As in the original, options act in the order in which they stand: the first of those that do something at
once (help, status, resets) decides, and what stands behind it is not looked at; what stands before it must
be right. There is no ``--option=value``, and short options are not bundled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.setups.dot_ralph.keys import GivenOption

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


USAGE = """\
Usage: ralph_loop.sh [OPTIONS]

  -h, --help                 this text
  -c, --calls N              runs that may succeed per clock hour (100)
  -p, --prompt FILE          the prompt (.ralph/PROMPT.md)
  -s, --status               show status.json
  -m, --monitor              run in tmux, with the live log and the status beside it
  -v, --verbose              tell more while a run lasts
  -l, --live                 show the agent's output while it comes
  -t, --timeout MIN          minutes that one run may take: 1 to 120 (15)
      --reset-circuit        close the circuit breaker and reset the session
      --circuit-status       show the circuit breaker
      --auto-reset-circuit   close an open circuit breaker at start
      --reset-session        reset the session
      --output-format FORMAT json or text (json)
      --allowed-tools LIST   tools that the agent may use, separated by commas
      --no-continue          start a new session in every run
      --session-expiry H     hours without use after which a session is not resumed (24)

ralph-bridge's own:
      --max-iterations N     end after N runs (never)
      --max-minutes MIN      end after MIN minutes (never)

Settings: .ralph/.ralphrc and the environment; options are stronger than both.
ralph-bridge stands in for this script. `ralph-bridge eject` brings the original back.
"""

_AT_ONCE = {
    "-h": "help",
    "--help": "help",
    "-s": "status",
    "--status": "status",
    "--reset-circuit": "reset-circuit",
    "--circuit-status": "circuit-status",
    "--reset-session": "reset-session",
}
_SWITCHES = {
    "-v": ("verbose", "true"),
    "--verbose": ("verbose", "true"),
    "--auto-reset-circuit": ("cb_auto_reset", "true"),
    "--no-continue": ("session_continuity", "false"),
}
_FIELDS = {
    "-c": "max_calls_per_hour",
    "--calls": "max_calls_per_hour",
    "-p": "prompt_file",
    "--prompt": "prompt_file",
    "-t": "timeout_minutes",
    "--timeout": "timeout_minutes",
    "--output-format": "output_format",
    "--allowed-tools": "allowed_tools",
    "--session-expiry": "session_expiry_hours",
}
_LIMITS = {"--max-iterations": "max_iterations", "--max-minutes": "max_minutes"}
WITH_VALUE = frozenset(_FIELDS) | frozenset(_LIMITS)
"""Options that take the word behind them."""


def _minutes(text: str) -> bool:
    return re.fullmatch(r"[1-9][0-9]{0,2}", text) is not None and int(text) <= 120


def _positive(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", text) is not None and float(text) > 0


_CHECKED: dict[str, tuple[Callable[[str], bool], str]] = {
    "timeout_minutes": (_minutes, "a whole number of minutes from 1 to 120"),
    "output_format": (lambda text: text in ("json", "text"), "json or text"),
    "session_expiry_hours": (lambda text: re.fullmatch(r"[1-9][0-9]{0,8}", text) is not None, "hours, at least 1"),
    "prompt_file": (bool, "a file"),
    "max_iterations": (
        lambda text: re.fullmatch(r"[1-9][0-9]{0,8}", text) is not None,
        "a whole number, at least 1",
    ),
    "max_minutes": (_positive, "minutes, more than 0, such as 90 or 0.5"),
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the options ask for.

    Attributes:
        action: ``run``, ``help``, ``status``, ``circuit-status``, ``reset-circuit``, ``reset-session``, or
            ``error``: then `message` says why, and the exit code is 1.
        options: settings by field, for :func:`bridge.setups.bmalph.settings.resolve`.
        live: show the agent's output while it comes.
        monitor: run in tmux.
        max_iterations: how many runs there are at most; None: any number.
        max_minutes: minutes after which the loop ends; None: never.
        message: what was wrong.
    """

    action: str
    options: Mapping[str, GivenOption] = field(default_factory=dict)
    live: bool = False
    monitor: bool = False
    max_iterations: int | None = None
    max_minutes: float | None = None
    message: str = ""


def parse(arguments: list[str]) -> Arguments:
    """Read the options; nothing is looked up, started or written (trap T26).

    >>> parse(["-c", "5", "--status", "--nonsense"]).action
    'status'
    """
    options: dict[str, GivenOption] = {}
    limits: dict[str, str] = {}
    live = monitor = False
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if option in _AT_ONCE:
            return Arguments(_AT_ONCE[option], options, live, monitor)
        if option in _SWITCHES:
            name, text = _SWITCHES[option]
            options[name] = GivenOption(option, text)
        elif option in ("-l", "--live"):
            live = True
        elif option in ("-m", "--monitor"):
            monitor = True
        elif option in WITH_VALUE:
            if not rest:
                return Arguments("error", message=f"{option} needs a value\n  next: --help lists the options")
            name, text = _FIELDS.get(option) or _LIMITS[option], rest.pop(0)
            check, expected = _CHECKED.get(name, (None, ""))
            if check is not None and not check(text):
                return Arguments("error", message=f"{option} is {text!r}: expected {expected}")
            if option in _LIMITS:
                limits[name] = text
            else:
                options[name] = GivenOption(option, text)
        else:
            return Arguments("error", message=f"Unknown option: {option}\n\n{USAGE}".rstrip("\n"))
    return Arguments(
        "run",
        options,
        live,
        monitor,
        max_iterations=int(limits["max_iterations"]) if "max_iterations" in limits else None,
        max_minutes=float(limits["max_minutes"]) if "max_minutes" in limits else None,
    )
