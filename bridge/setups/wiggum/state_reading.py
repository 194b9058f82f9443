"""Reading the state of a wiggum loop. Pure: text in, values out.

The two schemas that were only ever on paper are read as well: what older writers leave
out has a default, numbers that they wrote as strings are numbers, keys that we don't know are kept.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from bridge.errors import StateUnreadable
from bridge.setups.wiggum.breaker import Breaker, BreakerSettings, Circuit
from bridge.setups.wiggum.state import SCHEMA_VERSION, Checkpointing, State, Turn

__all__ = ["read_state"]


def read_state(text: str, *, where: str = "the state file", defaults: State | None = None) -> State:
    """Read a state file.

    Args:
        text: its contents.
        where: its name, for errors.
        defaults: what stands for keys that are missing, as in files of older writers.

    Raises:
        StateUnreadable: no JSON object, a value of another type than its key wants, or a later schema.
    """
    try:
        found = json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise StateUnreadable(f"{where} is no JSON: {error}\n{_NEXT}") from None
    except RecursionError:
        raise StateUnreadable(f"{where} is nested too deeply\n{_NEXT}") from None
    if not isinstance(found, dict):
        raise StateUnreadable(f"{where} holds no JSON object but {_named(found)}\n{_NEXT}")
    reader = _Reader(dict(found), where)
    ours = "schema_version" in found
    version = reader.take("schema_version", int, SCHEMA_VERSION)
    if version > SCHEMA_VERSION:
        raise StateUnreadable(
            f"{where} has schema_version {version}, this ralph-bridge knows {SCHEMA_VERSION}\n"
            "  next: use the ralph-bridge that wrote it"
        )
    return _state(reader, defaults or State(), ours=ours)


_NEXT = "  next: put it right, or begin anew with: ralph-bridge wiggum start --fresh (the file is kept aside)"


class _Reader:
    """Takes values out of an object, by type."""

    def __init__(self, found: dict[str, Any], where: str, prefix: str = "") -> None:
        self.rest = found
        self._where = where
        self._prefix = prefix

    def take(self, key: str, kind: Any, default: Any) -> Any:
        """Give a value of that kind; the default when it is missing or null."""
        value = self.rest.pop(key, None)
        if value is None:
            return default
        read = _converted(value, kind)
        if read is None:
            raise self.wrong(key, value, _KINDS[kind])
        return read

    def word(self, key: str, words: tuple[str, ...], default: str) -> str:
        """Give one of the words."""
        value: str = self.take(key, str, default)
        if value not in words:
            raise self.wrong(key, value, " or ".join(words))
        return value

    def inner(self, key: str) -> _Reader:
        """Give a reader of an object inside; of an empty one when it is missing."""
        return _Reader(dict(self.take(key, dict, {})), self._where, f"{self._prefix}{key}.")

    def wrong(self, key: str, value: object, expected: str) -> StateUnreadable:
        """Make the error about a value."""
        return StateUnreadable(f"{self._where}: {self._prefix}{key} is {value!r}, expected {expected}\n{_NEXT}")


_KINDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false", dict: "an object"}
_KINDS |= {list: "an array"}


def _converted(value: object, kind: type) -> Any:
    """Give the value as that kind, or None when it isn't one; a negative number never is."""
    if kind in (int, float) and isinstance(value, str):
        # What `jq --arg` writes.
        value = int(value) if value.isascii() and value.isdecimal() else value
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind is int:
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
    if kind is float:
        return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
    return value if isinstance(value, kind) else None


def _named(value: object) -> str:
    return "null" if value is None else f"a {type(value).__name__}"


def _state(reader: _Reader, defaults: State, *, ours: bool) -> State:
    inner = reader.inner("breaker")
    settings = reader.inner("breaker_settings")
    checkpoints = reader.inner("checkpoints")
    turn = reader.inner("turn")
    # The sample hook kept its counter at the top level.
    idle = reader.take("no_change_count", int, 0)
    values: dict[str, Any] = {
        "mode": reader.word("mode", ("outer", "hook"), defaults.mode),
        "breaker": _breaker(inner, idle),
        "breaker_settings": _settings(settings),
        "checkpoints": Checkpointing(
            **{each.name: checkpoints.take(each.name, bool, each.default) for each in fields(Checkpointing)}
        ),
        "turn": _turn(turn) if turn.rest else None,
        "completed_items": tuple(map(str, reader.take("completed_items", list, []))),
        "max_minutes": reader.take("max_minutes", float, None),
        "by_default": tuple(map(str, reader.take("by_default", list, []))),
        # The published schema has no end but this one: that all its items are done.
        "plan_completes": reader.take("plan_completes", bool, not ours),
        "exit_code": reader.take("exit_code", int, None),
    }
    for name in ("iteration", "max_iterations", "remaining_items", "total_items", "blocks"):
        values[name] = reader.take(name, int, getattr(defaults, name))
    for name in _TEXTS:
        values[name] = reader.take(name, str, getattr(defaults, name))
    if not values["completion_promise"].strip():
        raise reader.wrong("completion_promise", values["completion_promise"], "the text of a promise")
    values["session_id"] = values["session_id"] or None
    return State(**values, extra=reader.rest)


_TEXTS = (
    *(
        "task_name",
        "task_hash",
        "prompt_hash",
        "run_id",
        "started_at",
        "updated_at",
        "completion_promise",
        "session_id",
    ),
    *("tool", "last_action", "outcome", "reason", "ended_at"),
)


def _breaker(reader: _Reader, idle: int) -> Breaker:
    given = reader.take("state", str, "CLOSED")
    state = "HALF" if given.upper() in ("HALF_OPEN", "HALF-OPEN") else given.upper()
    if state not in list(Circuit):
        raise reader.wrong("state", given, " or ".join(Circuit))
    lengths = reader.take("output_lengths", list, [])
    return Breaker(
        state=Circuit(state),
        opened_at=reader.take("opened_at", str, None),
        reason=reader.take("reason", str, ""),
        trip=reader.take("trip", str, ""),
        no_change_count=reader.take("no_change_count", int, idle),
        same_error_count=reader.take("same_error_count", int, 0),
        error_hashes=tuple(map(str, reader.take("error_hashes", list, []))),
        output_lengths=tuple(each for each in lengths if isinstance(each, int)),
        opens=reader.take("opens", int, 0),
        error_streaks={
            error: count for error, count in reader.take("error_streaks", dict, {}).items() if type(count) is int
        },
        same_message_count=reader.take("same_message_count", int, 0),
        message_hash=reader.take("message_hash", str, ""),
    )


def _settings(reader: _Reader) -> BreakerSettings:
    base = BreakerSettings()
    words = ("off", "warn", "stop")
    return BreakerSettings(
        no_change=reader.take("no_change", int, base.no_change),
        same_error=reader.take("same_error", int, base.same_error),
        output_decline=reader.take("output_decline", int, base.output_decline),
        on_output_decline=reader.word("on_output_decline", words, base.on_output_decline),  # type: ignore[arg-type]
        on_stuck=reader.word("on_stuck", words, base.on_stuck),  # type: ignore[arg-type]
        cooldown_minutes=reader.take("cooldown_minutes", float, base.cooldown_minutes),
    )


def _turn(reader: _Reader) -> Turn:
    return Turn(
        number=reader.take("number", int, 0),
        started_at=reader.take("started_at", str, ""),
        head=reader.take("head", str, ""),
        tree=reader.take("tree", str, None),
        blocks=reader.take("blocks", int, 0),
    )
