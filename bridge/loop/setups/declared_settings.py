"""Settings, each declared once as a field of a dataclass: names, type, default, meaning. Pure.

What a text may be is a :class:`Kind`; where a value comes from is decided by :func:`look_up`, in one order for all.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from bridge.base.records import dataclass
from bridge.base.resources import nearest
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")


class Refused(ValueError):
    """The text is none of what was expected; says what was."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A type of setting.

    Attributes:
        expected: what it accepts, as it appears in messages and tables.
        read: from text to value; raises :class:`Refused`.
        lenient: a text that is refused costs a warning, and `instead` is taken: where the original goes on.
        instead: the value then.
    """

    expected: str
    read: Callable[[str], T]
    lenient: bool = False
    instead: T | None = None


def whole(least: int, most: int | None = None, *, lenient: bool = False) -> Kind[int]:
    """Take a whole number from `least` to `most`; lenient: anything else is 0, with a warning."""
    expected = f"a whole number ≥ {least}" if most is None else f"a whole number from {least} to {most}"

    def read(given: str) -> int:
        if _WHOLE.fullmatch(given) is None or int(given) < least or (most is not None and int(given) > most):
            raise Refused(expected)
        return int(given)

    return Kind(expected, read, lenient, 0 if lenient else None)


def number(unit: str, like: str) -> Kind[float]:
    """Take an amount, a fraction allowed; `like` is an example."""
    expected = f"{unit} ≥ 0, such as {like} or 0.5"

    def read(given: str) -> float:
        if _NUMBER.fullmatch(given) is None:
            raise Refused(expected)
        return float(given)

    return Kind(expected, read)


def optional(kind: Kind[T]) -> Kind[T | None]:
    """Take empty text for None."""
    return Kind(kind.expected, lambda given: kind.read(given) if given else None)


def one_of(*names: str, empty: str | None = None, instead: str | None = None) -> Kind[str]:
    """Take one of `names`; empty text counts as `empty`, unknown text as `instead` with a warning."""
    expected = f"one of {', '.join(names)}"

    def read(given: str) -> str:
        if not given and empty is not None:
            return empty
        if given not in names:
            same = [name for name in names if name.lower() == given.lower()]
            close = same[0] if same else nearest(given, names)
            raise Refused(expected + (f". Did you mean {close}?" if close else ""))
        return given

    return Kind(expected, read, instead is not None, instead)


def switch(*also: str) -> Kind[bool]:
    """Take ``true`` (`also`: what turns it on, too) or ``false``; anything else is off, with a warning."""
    on = ("true", *also)

    def read(given: str) -> bool:
        if given not in (*on, "false", ""):
            raise Refused(f"true or false (only exactly {' or '.join(on)} turns it on)")
        return given in on

    return Kind("true or false", read, True, False)


def such(expected: str, fits: Callable[[str], bool]) -> Kind[str]:
    def read(given: str) -> str:
        if not fits(given):
            raise Refused(expected)
        return given

    return Kind(expected, read)


TEXT = Kind("any text", str)
SWITCH = switch()
POSITIVE, COUNT = whole(1), whole(0)
SECONDS = number("seconds", "30")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingKey:
    """One setting.

    Attributes:
        field: its name in the setup's settings.
        name: its name in the environment, and the global that drivers see; ``""``: there is none.
        kind: what its text may be.
        default: the default, as text.
        meaning: what it is for, in one line.
        alias: a further name in the environment, which is stronger than `name`; ``""``: there is none.
        in_file: the key that the settings file has for it; ``""``: none, environment only.
        empty_counts: an empty value in the environment counts as given. Elsewhere it is as if unset.
        option: the option of a run that gives it, too, by its name in :data:`bridge.loop.setups.options.OPTIONS`.
    """

    field: str = ""
    name: str
    kind: Kind[Any]
    default: str
    meaning: str
    alias: str = ""
    in_file: str = ""
    empty_counts: bool = False
    option: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.name, self.alias, self.in_file) if name)


def setting(
    name: str,
    kind: Kind[T],
    default: str,
    meaning: str,
    *,
    alias: str = "",
    in_file: str | None = None,
    empty_counts: bool = False,
    option: str = "",
) -> T:
    """Declare a setting, as a field of a dataclass of settings; see :class:`SettingKey`.

    Args:
        name, kind, default, meaning, alias, empty_counts, option: see there.
        in_file: see there; None: by its alias, else its name.
    """
    key = SettingKey(
        name=name,
        kind=kind,
        default=default,
        meaning=meaning,
        alias=alias,
        in_file=(alias or name) if in_file is None else in_file,
        empty_counts=empty_counts,
        option=option,
    )
    declared: Any = dataclasses.field(metadata={SettingKey: key})
    return cast("T", declared)


def keys_of(settings: type[Any]) -> tuple[SettingKey, ...]:
    """The settings that a dataclass declares: its own, those that it inherits, our own additions.

    A field that is only annotated anew is what it was, and has its place among the class's own.
    """
    bases = [each for each in settings.__mro__ if dataclasses.is_dataclass(each)]
    found = {
        field.name: dataclasses.replace(field.metadata[SettingKey], field=field.name)
        for base in reversed(bases)
        for field in dataclasses.fields(base)
        if SettingKey in field.metadata
    }
    names = dict.fromkeys(name for base in bases for name in inspect.get_annotations(base) if name in found)
    keys = [found[name] for name in names]
    return tuple(sorted(keys, key=lambda key: key.name.startswith("RALPH_BRIDGE_")))


class GivenOption(NamedTuple):
    """What an option of the command line says: the option as it was written, and its text."""

    option: str
    text: str


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Where a value comes from.

    Attributes:
        kind: ``option``, ``environment``, ``file`` or ``default``.
        name: how the value is called there: ``--calls``, ``ALLOWED_TOOLS``.
        where: the place, as people read it: ``on the command line``, ``in .ralph/.ralphrc line 12``.
    """

    kind: str
    name: str
    where: str


class RcEntry(NamedTuple):
    """One setting of a file.

    Attributes:
        value: what it says, without quotes and comments.
        line: where, from 1.
        via: the variable of the environment that gave the value through ``${NAME:-default}``, or ``""``.
    """

    value: str
    line: int
    via: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something in the line of that number that people should know, and what to do; `ignored`: it was left out."""

    line: int
    problem: str
    advice: str
    ignored: bool = True


@dataclass(frozen=True, slots=True)
class Rc:
    """What a settings file says.

    Attributes:
        shown: the file as people in the project would write it; where there is none, where one would be.
        entries: settings by key; of several lines the last counts. remarks: in the order of the lines.
    """

    shown: str = ".ralph/.ralphrc"
    entries: Mapping[str, RcEntry] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    exists: bool = False

    def messages(self) -> tuple[str, ...]:
        return tuple(f"{self.shown}:{each.line}: {each.problem}; {each.advice}" for each in self.remarks)


def look_up(
    key: SettingKey,
    options: Mapping[str, GivenOption],
    env: Mapping[str, str],
    entries: Mapping[str, RcEntry],
    shown: str,
) -> tuple[str, ValueSource]:
    """Find the text of a setting: option, alias and name in the environment, file (`shown`: its name), default."""
    if (given := options.get(key.field)) is not None:
        return given.text, ValueSource("option", given.option, "on the command line")
    for name in filter(None, (key.alias, key.name)):
        if env.get(name) or (key.empty_counts and name in env):
            return env[name], ValueSource("environment", name, "in the environment")
    if key.in_file and (entry := entries.get(key.in_file)) is not None:
        via = f" (through {entry.via} in the environment)" if entry.via else ""
        return entry.value, ValueSource("file", key.in_file, f"in {shown} line {entry.line}{via}")
    return key.default, ValueSource("default", key.in_file or key.name, "by default")


def read_value(key: SettingKey, given: str, source: ValueSource) -> tuple[Any, str]:
    """Return the value that a text stands for, and what is wrong with the text or ''; then the value is a guess."""
    try:
        return key.kind.read(given), ""
    except Refused as refused:
        text = given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return key.kind.instead, f"{source.name} is {text!r} {source.where}: expected {refused}"


def read_values(
    keys: Iterable[SettingKey],
    found: Mapping[str, tuple[str, ValueSource]],
    read: Callable[[SettingKey, str, ValueSource], tuple[Any, str]] = read_value,
) -> tuple[dict[str, Any], list[str]]:
    """Return the values by field, and what people should know of those that are taken for what they are not.

    Raises:
        ConfigurationError: values that can't be used; names all of them.
    """
    values: dict[str, Any] = {}
    notices, problems = [], []
    for key in keys:
        values[key.field], problem = read(key, *found[key.field])
        if problem and key.kind.lenient:
            notices.append(f"{problem}; {as_text(values[key.field])} is taken")
        elif problem:
            problems.append(problem)
    if len(problems) == 1:
        raise ConfigurationError(f"{problems[0]}\n  next: correct it")
    if problems:
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise ConfigurationError(f"{len(problems)} settings can't be used:{listed}\n  next: correct them")
    return values, notices


def as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
