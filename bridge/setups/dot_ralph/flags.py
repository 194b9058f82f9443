"""The command lines of both controllers. Pure: arguments in, what they ask for out.

As in the originals, options act in the order in which they stand: the first of those that do something at once
(help, status, resets) decides, and what stands behind it is not looked at; what stands before it must be right.
There is no ``--option=value`` of the original's options, and short ones are not bundled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.setups.dot_ralph.keys import GivenOption

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

USAGE = """\
  -h, --help                 this text
  -c, --calls N              {calls} per clock hour (100)
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
      --session-expiry H     hours without use after which a session is not resumed (24)"""
"""What both have."""

OWN_USAGE = """\
ralph-bridge's own:
      --max-iterations N     end after N runs (never)
      --max-minutes MIN      end after MIN minutes (never)"""

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
_OWN = frozenset({"--max-iterations", "--max-minutes"})
_FLAGS = {"-m": "monitor", "--monitor": "monitor"}

Check = tuple["Callable[[str], bool]", str]
"""Says whether a text will do, and what is expected."""


def whole(least: int, most: int = 999_999_999) -> Callable[[str], bool]:
    """Accept a whole number in this range."""
    return lambda text: re.fullmatch(r"[1-9][0-9]{0,8}", text) is not None and least <= int(text) <= most


def _positive(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", text) is not None and float(text) > 0


_CHECKED: dict[str, Check] = {
    "timeout_minutes": (whole(1, 120), "a whole number of minutes from 1 to 120"),
    "output_format": (lambda text: text in ("json", "text"), "json or text"),
    "session_expiry_hours": (whole(1), "hours, at least 1"),
    "prompt_file": (bool, "a file"),
    "--max-iterations": (whole(1), "a whole number, at least 1"),
    "--max-minutes": (_positive, "minutes, more than 0, such as 90 or 0.5"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Which options there are beside those that both controllers have.

    Attributes:
        switches: option to a setting's field and its text.
        fields: option with a value, to the field.
        own: options with a value that are no settings; ``--option=value`` is understood, too.
        optional: of those, the ones that are something else where no value follows.
        flags: option to its name, or to '' where nothing comes of it.
        with_rest: option to an action that takes the words behind it, and what is put before them.
        checked: what a value has to be, by field, or by option where it is no setting.
    """

    switches: dict[str, tuple[str, str]] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    flags: dict[str, str] = field(default_factory=dict)
    with_rest: dict[str, tuple[str, ...]] = field(default_factory=dict)
    checked: dict[str, Check] = field(default_factory=dict)

    @property
    def with_value(self) -> frozenset[str]:
        """Options that take the word behind them."""
        return frozenset({*_FIELDS, *self.fields, *_OWN, *self.own})


@dataclass(slots=True)
class Arguments:
    """What the options ask for.

    Attributes:
        action: ``run``, ``help``, ``status``, ``circuit-status``, ``reset-circuit``, ``reset-session``, one of the
            grammar's, ``unknown`` (an option), or ``error``: then `message` says why, and the exit code is 1.
        options: settings by field.
        own: values of options that are no settings, by option, each time that it was given.
        flags: names of those that were given.
        words: what `action` takes.
        message: what was wrong.
    """

    action: str = "run"
    options: dict[str, GivenOption] = field(default_factory=dict)
    own: dict[str, list[str]] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    words: tuple[str, ...] = ()
    message: str = ""

    def last(self, option: str) -> str | None:
        """Return the value that counts of an option that is no setting; None: it wasn't given."""
        return self.own.get(option, [None])[-1]

    @property
    def max_iterations(self) -> int | None:
        """How many runs there are at most; None: any number."""
        given = self.last("--max-iterations")
        return None if given is None else int(given)

    @property
    def max_minutes(self) -> float | None:
        """Minutes after which the loop ends; None: never."""
        given = self.last("--max-minutes")
        return None if given is None else float(given)


def parse(arguments: Sequence[str], grammar: Grammar) -> Arguments:
    """Read the options; nothing is looked up, started or written (traps T26, F20, F27).

    >>> parse(["-c", "5", "--status", "--nonsense"], Grammar()).action
    'status'
    """
    found, rest = Arguments(), list(arguments)
    while rest and found.action == "run":
        _read(found, rest, grammar)
    return found


def _read(found: Arguments, rest: list[str], grammar: Grammar) -> None:
    """Read one option, with its value."""
    option, equals, value = rest[0].partition("=")
    if equals and option in _OWN | grammar.own | grammar.optional:
        rest[0] = value
    else:
        option = rest.pop(0)
    flags, switches = _FLAGS | grammar.flags, _SWITCHES | grammar.switches
    if option in _AT_ONCE:
        found.action = _AT_ONCE[option]
    elif option in grammar.with_rest:
        found.action, *before = grammar.with_rest[option]
        found.words = (*before, *rest)
    elif option in grammar.with_value or (option in grammar.optional and rest and not rest[0].startswith("-")):
        _read_value(found, option, rest, grammar)
    elif option in switches:
        name, text = switches[option]
        found.options[name] = GivenOption(option, text)
    elif option in flags:
        found.flags.add(flags[option])
    else:
        found.action, found.message = "unknown", f"Unknown option: {option}"


def _read_value(found: Arguments, option: str, rest: list[str], grammar: Grammar) -> None:
    if not rest:
        found.action, found.message = "error", f"{option} needs a value\n  next: --help lists the options"
        return
    name, text = (_FIELDS | grammar.fields).get(option, option), rest.pop(0)
    check, expected = (_CHECKED | grammar.checked).get(name, (None, ""))
    if check is not None and not check(text):
        found.action, found.message = "error", f"{option} is {text!r}: expected {expected}"
    elif name == option:
        found.own.setdefault(option, []).append(text)
    else:
        found.options[name] = GivenOption(option, text)
