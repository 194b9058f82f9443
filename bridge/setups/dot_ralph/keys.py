"""Settings: what one is called, what it may be, and where its value comes from. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import ConfigurationError
from bridge.setups.dot_ralph.values import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bridge.setups.dot_ralph.values import Kind, Value


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


@dataclass(frozen=True, slots=True)
class RcEntry:
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
class SettingKey:
    """One setting.

    Attributes:
        field: its name in the setup's settings.
        name: its name in the environment, and the global that drivers see.
        kind: what its text may be.
        default: the default, as text.
        meaning: what it is for, in one line.
        alias: its public name in the environment, which is stronger than `name`; ``""``: there is none.
        in_file: the key that ``.ralphrc`` accepts for it; ``""``: none, environment only.
        empty_counts: an empty value in the environment counts as given. Elsewhere it is as if unset.
        option: the option of a run that gives it, too, by its name in :data:`bridge.setups.options.OPTIONS`.
    """

    field: str
    name: str
    kind: Kind
    default: str
    meaning: str
    alias: str = ""
    in_file: str = ""
    empty_counts: bool = False
    option: str = ""


def both(
    field: str, name: str, kind: Kind, default: str, meaning: str, alias: str = "", option: str = ""
) -> SettingKey:
    """A setting of the environment and of the file, which calls it by its public name."""
    return SettingKey(field, name, kind, default, meaning, alias, alias or name, option=option)


def look_up(
    key: SettingKey,
    options: Mapping[str, GivenOption],
    env: Mapping[str, str],
    entries: Mapping[str, RcEntry],
    shown: str,
) -> tuple[str, ValueSource]:
    """Find the text of a setting: option, public name and name in the environment, file, default.

    Args:
        key: the setting.
        options: what the command line says, by field.
        env: the environment.
        entries: of the file, by key.
        shown: the file, for people.
    """
    if (given := options.get(key.field)) is not None:
        return given.text, ValueSource("option", given.option, "on the command line")
    for name in filter(None, (key.alias, key.name)):
        if env.get(name) or (key.empty_counts and name in env):
            return env[name], ValueSource("environment", name, "in the environment")
    if key.in_file and (entry := entries.get(key.in_file)) is not None:
        via = f" (through {entry.via} in the environment)" if entry.via else ""
        return entry.value, ValueSource("file", key.in_file, f"in {shown} line {entry.line}{via}")
    return key.default, ValueSource("default", key.in_file or key.name, "by default")


def read_value(key: SettingKey, given: str, source: ValueSource) -> tuple[Value, str]:
    """Return the value that a text stands for, and what is wrong with the text or ''; then the value is a guess."""
    try:
        return key.kind.read(given), ""
    except Refused as refused:
        text = given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return key.kind.instead, f"{source.name} is {text!r} {source.where}: expected {refused}"


Reader = Callable[["SettingKey", str, ValueSource], "tuple[Value, str]"]


def read_values(
    keys: Iterable[SettingKey], found: Mapping[str, tuple[str, ValueSource]], read: Reader = read_value
) -> tuple[dict[str, Any], list[str]]:
    """Return the values by field, and what people should be told of those that are taken for what they are not.

    Args:
        keys: the settings.
        found: the text of each, by field, and where it comes from.
        read: reads one.

    Raises:
        ConfigurationError: values that can't be used; names all of them.
    """
    values: dict[str, Any] = {}
    notices, problems = [], []
    for key in keys:
        values[key.field], told = read(key, *found[key.field])
        if told and key.kind.lenient:
            notices.append(f"{told}; {as_text(values[key.field])} is taken")
        elif told:
            problems.append(told)
    refuse_values(problems)
    return values, notices


def refuse_values(problems: Sequence[str]) -> None:
    """Refuse settings that can't be used, all of them at once.

    Raises:
        ConfigurationError: there are some.
    """
    if len(problems) == 1:
        raise ConfigurationError(f"{problems[0]}\n  next: correct it")
    if problems:
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise ConfigurationError(f"{len(problems)} settings can't be used:{listed}\n  next: correct them")


def as_text(value: object) -> str:
    """Write a value as scripts and people see it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
