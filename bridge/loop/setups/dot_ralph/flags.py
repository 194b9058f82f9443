"""The command lines of both controllers, from one table each. Pure: arguments in, what they ask for out.

As in the originals, options act in the order in which they stand: the first of those that do something at once
(help, status, resets) decides, and what stands behind it is not looked at; what stands before it must be right.
There is no ``--option=value`` of the original's options, and short ones are not bundled.
"""

from __future__ import annotations

import math
import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

from bridge.base.records import dataclass
from bridge.loop.setups.declared_settings import GivenOption
from bridge.loop.setups.further_tools import OPTIONS as CREW
from bridge.loop.setups.gate_options import OPTIONS as GATES
from bridge.loop.setups.options import OPTIONS, RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bridge.loop.setups.declared_settings import SettingKey
    from bridge.loop.setups.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One option: what it is called, what it gives, and its line in the help.

    Attributes:
        names: the short one first.
        takes: the word behind it, as people call it; '': it takes none.
        text: its line; '': it is in no help. ``{meaning}`` and ``{default}`` are those of its setting.
        field: the setting that it gives. value: the text that it gives without a word behind it.
        check: whether a word will do. expected: what would.
        optional: where no word follows, it gives `value`; with one, the word is noted, and no setting.
        action: what it does at once, and words for that. rest: it takes those behind it, too.
        mark: what is noted where it gives nothing else.
    """

    names: tuple[str, ...]
    takes: str = ""
    text: str = ""
    field: str = ""
    value: str = "true"
    check: Callable[[str], bool] = lambda _text: True
    expected: str = ""
    optional: bool = False
    action: tuple[str, ...] = ()
    rest: bool = False
    mark: str = ""

    @property
    def noted(self) -> bool:
        """A word behind it is noted under its name; ``--option=value`` is understood, too."""
        return bool(self.takes) and (self.optional or not self.field)


Grammar = dict[str, Flag]
"""Each option of a controller by each of its names."""


def grammar(*tables: Iterable[Flag]) -> Grammar:
    return {name: flag for table in tables for flag in table for name in flag.names}


def usage(flags: Iterable[Flag], keys: Iterable[SettingKey] = ()) -> str:
    """The lines of the help, in the order of a table; `keys` know what settings mean.

    >>> usage([Flag(names=("-c", "--calls"), takes="N", text="runs per hour")])
    '  -c, --calls N              runs per hour'
    """
    known = {
        key.field: {"meaning": key.meaning[:1].lower() + key.meaning[1:-1], "default": key.default} for key in keys
    }
    return "\n".join(_head(flag) + flag.text.format(**known.get(flag.field, {})) for flag in flags if flag.text)


def _head(flag: Flag) -> str:
    indent = "  " if len(flag.names[0]) == 2 else "      "
    head = f"{indent}{', '.join(flag.names)} {flag.takes}".rstrip()
    return f"{head:<28} " if len(head) <= 28 else f"{head}  "


def whole(least: int, most: int = 999_999_999) -> Callable[[str], bool]:
    """Accept a whole number in this range."""
    return lambda text: re.fullmatch(r"[1-9][0-9]{0,8}", text) is not None and least <= int(text) <= most


def _positive(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", text) is not None and float(text) > 0


def flag(names: str, takes: str = "", text: str = "", field: str = "", **more: object) -> Flag:
    """Declare an option; `names` are separated by blanks."""
    return Flag(names=tuple(names.split()), takes=takes, text=text, field=field, **more)  # type: ignore[arg-type]


TIMEOUT = flag("-t --timeout", "MIN", "minutes that one run may take: 1 to 120 ({default})", "timeout_minutes",
               check=whole(1, 120), expected="a whole number of minutes from 1 to 120")  # fmt: skip
TOOLS = flag("--allowed-tools", "LIST", "tools that the agent may use, separated by commas", "allowed_tools")
COMMON: tuple[Flag, ...] = (
    flag("-h --help", "", "this text", action=("help",)),
    flag("-c --calls", "N", "{meaning} ({default})", "max_calls_per_hour"),
    flag("-p --prompt", "FILE", "the prompt (.ralph/PROMPT.md)", "prompt_file", check=bool, expected="a file"),
    flag("-s --status", "", "show status.json", action=("status",)),
    flag("-m --monitor", "", "run in tmux, with the live log and the status beside it", mark="monitor"),
    flag("-v --verbose", "", "{meaning}", "verbose"),
    flag("-l --live", "", "show the agent's output while it comes", mark="live"),
    TIMEOUT,
    flag("--reset-circuit", "", "close the circuit breaker and reset the session", action=("reset-circuit",)),
    flag("--circuit-status", "", "show the circuit breaker", action=("circuit-status",)),
    flag("--auto-reset-circuit", "", "close an open circuit breaker at start", "cb_auto_reset"),
    flag("--reset-session", "", "reset the session", action=("reset-session",)),
    flag("--output-format", "FORMAT", "json or text ({default})", "output_format",
            check=lambda text: text in ("json", "text"), expected="json or text"),
    TOOLS,
    flag("--no-continue", "", "start a new session in every run", "session_continuity", value="false"),
    flag("--session-expiry", "H", "{meaning} ({default})", "session_expiry_hours",
            check=whole(1), expected="hours, at least 1"),
)  # fmt: skip
"""What both have."""

_SHARED = tuple(OPTIONS[name] for name in ("exit_grace", "max_silence", "max_context", *CREW, *GATES))


def _own(option: Option) -> Flag:
    """One of the host's own options, as it is in this grammar."""
    if option.type == "bool":
        return flag(option.flag, "", option.line, mark=option.name)
    numbers: dict[str, dict[str, Any]] = {
        "int": {"check": whole(1), "expected": "a whole number, at least 1"},
        "float": {"check": _positive, "expected": "a number, more than 0, such as 90 or 0.5"},
    }
    return flag(option.flag, option.metavar or "", option.line, **numbers.get(option.type, {}))


OWN: tuple[Flag, ...] = (
    flag("--max-iterations", "N", "end after N runs (never)", check=whole(1),
            expected="a whole number, at least 1"),
    flag("--max-minutes", "MIN", "end after MIN minutes (never)", check=_positive,
            expected="minutes, more than 0, such as 90 or 0.5"),
    *map(_own, _SHARED),
)  # fmt: skip
"""What neither original has."""


@dataclass(slots=True)
class Arguments:
    """What the options ask for.

    Attributes:
        action: ``run``, ``help``, ``status``, ``circuit-status``, ``reset-circuit``, ``reset-session``, ``batch``
            (several loops), one of the grammar's, ``unknown`` (an option), or ``error``: then `message` says why,
            and the exit code is 1.
        options: settings by field.
        own: values of options that are no settings, by option, each time that it was given.
        flags: marks of those that were given.
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

    def _value(self, option: Option) -> Any:
        text = self.last(option.flag)
        if option.type == "bool":
            return option.name in self.flags or None
        return text if text is None else {"int": int, "float": float}.get(option.type, str)(text)

    def run_options(self) -> RunOptions:
        """What is asked of the loop. Settings know whole minutes: of a part of one the run is told beside them."""
        settings, minutes = dict(self.options), None
        if (timeout := settings.get("timeout_minutes")) is not None and "." in timeout.text:
            minutes = float(timeout.text)
            settings["timeout_minutes"] = timeout._replace(text=str(math.ceil(minutes)))
        iterations, most = self.last("--max-iterations"), self.last("--max-minutes")
        return RunOptions(
            given=settings,
            settings=dict(pair.split("=", 1) for pair in self.own.get("--set", ())),
            driver=self.last("--driver"),
            max_iterations=None if iterations is None else int(iterations),
            max_minutes=None if most is None else float(most),
            timeout=minutes,
            promise=self.last("--completion-promise"),
            live="live" in self.flags,
            **{each.name: value for each in _SHARED if (value := self._value(each)) is not None},
        )


def parse(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Arguments:
    """Read the options; nothing is looked up, started or written (traps T26, F20, F27).

    >>> parse(["-c", "5", "--status", "--nonsense"], grammar(COMMON)).action
    'status'
    """
    found, rest = Arguments(), list(arguments)
    while rest and found.action == "run":
        _read(found, rest, flags)
    return found


def _read(found: Arguments, rest: list[str], flags: Mapping[str, Flag]) -> None:
    option, equals, value = rest[0].partition("=")
    if equals and option in flags and flags[option].noted:
        rest[0] = value
    else:
        option = rest.pop(0)
    if (flag := flags.get(option)) is None:
        found.action, found.message = "unknown", f"Unknown option: {option}"
    elif flag.action:
        found.action, *before = flag.action
        found.words = (*before, *rest) if flag.rest else ()
    elif flag.takes and not (flag.optional and (not rest or rest[0].startswith("-"))):
        _read_value(found, option, rest, flag)
    elif flag.field:
        found.options[flag.field] = GivenOption(option, flag.value)
    else:
        found.flags.add(flag.mark)


def _read_value(found: Arguments, option: str, rest: list[str], flag: Flag) -> None:
    if not rest:
        found.action, found.message = "error", f"{option} needs a value\n  next: --help lists the options"
    elif not flag.check(text := rest.pop(0)):
        found.action, found.message = "error", f"{option} is {text!r}: expected {flag.expected}"
    elif flag.noted:
        found.own.setdefault(option, []).append(text)
    else:
        found.options[flag.field] = GivenOption(option, text)
